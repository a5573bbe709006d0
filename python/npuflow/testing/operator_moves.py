"""Transposes and reshapes between elementwise ops, and conversions between element types."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from npuflow.testing.operator_steps import ElementwiseStep, apply_steps, widened
from npuflow.testing.operator_text import Value, Writer
from npuflow.testing.operators import OperatorProgram, Tailed
from npuflow.testing.programs import Types


@dataclass(frozen=True)
class Turned(Tailed):
    """A linalg.transpose, with a scale in front of it if `head` says so."""

    family: ClassVar[str] = "transpose"

    shape: tuple[int, ...]
    permutation: tuple[int, ...]
    element: str
    head: bool = False

    def build(self, writer: Writer) -> Value:
        source = widened(writer, writer.argument(self.element, self.shape), self.element, self.head)
        return self.behind(writer, writer.transpose(source, self.permutation))


@dataclass(frozen=True)
class Reshaped(Tailed):
    """`shape` with groups of dimensions made one each (or, where `expands`, the other way round)."""

    family: ClassVar[str] = "reshape"

    shape: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    element: str
    expands: bool = False
    head: bool = True

    def build(self, writer: Writer) -> Value:
        short = tuple(prod(self.shape[d] for d in group) for group in self.groups)
        before, after = (short, self.shape) if self.expands else (self.shape, short)
        source = widened(writer, writer.argument(self.element, before), self.element, self.head)
        return self.behind(writer, writer.reshape(source, self.groups, after))


@dataclass(frozen=True)
class Cast(OperatorProgram):
    """Numbers in another type: as they are, dequantised by a scale per channel, or cut by what `tails` says."""

    family: ClassVar[str] = "cast"

    shape: tuple[int, ...]
    types: Types
    tails: tuple[ElementwiseStep, ...] = ()

    @property
    def label(self) -> str:
        return self.tails[-1].value if self.tails else "cast"

    def build(self, writer: Writer) -> Value:
        source = widened(writer, writer.argument(self.types.operand, self.shape), self.types.accumulator, head=False)
        return apply_steps(writer, source, self.tails, -1)
