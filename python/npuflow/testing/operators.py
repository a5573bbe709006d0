"""Operator programs by family, type, shape and attributes, as MLIR text: what tests, tables and benchmarks compile.

A family is a frozen dataclass in one of the modules `operator_*`; `operator_families` lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import ClassVar

from npuflow.execute.arrays import Signature
from npuflow.testing.operator_steps import ElementwiseStep, apply_steps
from npuflow.testing.operator_text import Value, Writer


@dataclass(frozen=True)
class OperatorProgram(ABC):
    """A function with one operator, or a few that belong together."""

    family: ClassVar[str]
    in_label: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def build(self, writer: Writer) -> Value:
        """Writes the program; returns its result."""

    @property
    def label(self) -> str:
        """What the operator is called within its family."""
        return self.family

    @property
    def macs(self) -> int:
        """The multiply-accumulates that the operator asks for; 0 where it sums no products."""
        return 0

    @property
    def signature(self) -> Signature:
        writer = Writer()
        return writer.signature(self.build(writer))

    @property
    def needed_bytes(self) -> int:
        """What has to be read and written at least: every tensor once, of which an operator may need a part only."""
        return sum(spec.nbytes for spec in (*self.signature.inputs, *self.signature.outputs))

    def text(self) -> str:
        """The program as MLIR."""
        writer = Writer()
        return writer.text(self.build(writer))

    def __str__(self) -> str:
        said = [_print(f.name, getattr(self, f.name)) for f in fields(self) if f.name not in self.in_label]
        return " ".join([self.label, *(text for text in said if text)])


@dataclass(frozen=True)
class Tailed(OperatorProgram):
    """An operator with elementwise steps behind it, in one op or in one op each."""

    tails: tuple[ElementwiseStep, ...] = field(default=(), kw_only=True)
    one_op_per_tail: bool = field(default=False, kw_only=True)

    def behind(self, writer: Writer, value: Value, channel: int = -1) -> Value:
        """`value` after the steps; biases and scales follow the dimension `channel`."""
        groups: Sequence[tuple[ElementwiseStep, ...]] = [self.tails]
        if self.one_op_per_tail:
            groups = [(step,) for step in self.tails]
        for group in groups:
            value = apply_steps(writer, value, group, channel)
        return value


def _print(name: str, value: object) -> str:
    """A field in words: flags by their name, the rest by what it holds."""
    if isinstance(value, bool):
        return name.replace("_", "-") if value else ""
    return f"{name}={value}" if isinstance(value, int) else print_value(value)


def print_value(value: object) -> str:
    """`4x5` for numbers, `h=4,w=5` for named ones, `a+b` for others."""
    if isinstance(value, Enum):
        return str(value.value)
    if not isinstance(value, tuple):
        return str(value)
    if all(isinstance(item, int) for item in value):
        return "x".join(map(str, value))
    if all(isinstance(item, tuple) and item and isinstance(item[0], str) for item in value):
        return ",".join(f"{item[0]}={item[1]}" for item in value)
    return "+".join(print_value(item) for item in value)
