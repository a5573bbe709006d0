"""Ops as data, whatever they read and wherever they stand: of groups that do the same it is equal. Reads IR.

What nobody who describes a group can tell apart is left out: names, places, what is in tensors, and the digits of a
scale. A network's repeated layers are alike so, and a function that is taken apart again is what it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from struct import pack, unpack

from npuflow.bindings import ir
from npuflow.ops.contraction import users

# What is looked through for where a tensor comes from, and what sums begin with.
_SEEN_THROUGH = (
    *("tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice", "tensor.pad"),
    *("tensor.empty", "linalg.fill"),
)
_CONSTANT = "arith.constant"


@dataclass(frozen=True)
class Outline:
    """What ops do, as a `key`, and the values that they touch, in the order in which they are met."""

    key: Hashable
    values: tuple[ir.Value, ...] = field(repr=False, compare=False)


def outline_of(ops: Sequence[ir.Operation]) -> Outline:
    """The outline of ops in program order."""
    writer = _OutlineWriter(frozenset(ops))
    key = tuple([writer.op(op) for op in ops])
    return Outline(key, tuple(writer.values))


@dataclass
class _OutlineWriter:
    """`values` are numbered as they are met, and so are scalars: those that are equal are one constant of a kernel."""

    ops: frozenset[ir.Operation]
    values: dict[ir.Value, int] = field(default_factory=dict)
    scalars: dict[str, int] = field(default_factory=dict)

    def op(self, op: ir.Operation) -> Hashable:
        """An op with what it reads and what is in its regions; of those of the outline, what else reads them, too."""
        operands = tuple([self._read(value) for value in op.operands])
        attributes = tuple([(name, str(op.attributes[name])) for name in op.attributes])
        regions = tuple([self._block(block) for region in op.regions for block in region.blocks])
        made = tuple([self._made(value) for value in op.results])
        results = op.results if op in self.ops else ()
        readers = {user.name for value in results for user in users(value) if user not in self.ops}
        return op.name, operands, attributes, regions, made, tuple(sorted(readers))

    def _read(self, value: ir.Value) -> Hashable:
        """A value's number; when it is met first, with its type and where it comes from."""
        if value in self.values:
            return self.values[value]
        found: Hashable = str(value.type)
        if not isinstance(value.owner, ir.Block):
            source = value.owner.operation
            if source.name == _CONSTANT:
                found = self._constant(source)
            elif source.name in _SEEN_THROUGH:
                return self.op(source), self.values[value]
        self.values[value] = len(self.values)
        return found

    def _made(self, value: ir.Value) -> Hashable:
        self.values[value] = len(self.values)
        return str(value.type)

    def _block(self, block: ir.Block) -> Hashable:
        arguments = [self._argument(argument) for argument in block.arguments]
        return (*arguments, *(self._inner(child.operation) for child in block.operations))

    def _argument(self, value: ir.Value) -> Hashable:
        self.values[value] = len(self.values)
        return str(value.type), any(True for _ in value.uses)

    def _inner(self, op: ir.Operation) -> Hashable:
        if op.name != _CONSTANT:
            return self.op(op)
        found = self._constant(op)
        self.values[op.results[0]] = len(self.values)
        return found

    def _constant(self, op: ir.Operation) -> Hashable:
        """A constant's type, and of a scalar its number; of a scale, instead of its value, what can hold it."""
        kind = str(op.results[0].type)
        if not isinstance(op.results[0].type, (ir.FloatType, ir.IntegerType, ir.IndexType)):
            return _CONSTANT, kind
        text = str(op.attributes["value"])
        scale = ir.FloatAttr(op.attributes["value"]).value if isinstance(op.results[0].type, ir.F32Type) else 0.0
        value = _held_by(scale) if isfinite(scale) and scale else text
        return _CONSTANT, kind, self.scalars.setdefault(text, len(self.scalars)), value


def _held_by(number: float) -> tuple[bool, bool]:
    """Which floats of 16 bits hold a number: those are what it can be multiplied as."""
    try:
        is_half = unpack("e", pack("e", number))[0] == number
    except OverflowError:
        is_half = False
    return pack(">f", number).endswith(b"\0\0"), is_half
