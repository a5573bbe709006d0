"""What a kernel's op does with its buffers, and what kind of work it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail
from npuflow.ops.contraction import match_contraction
from npuflow.ops.padding import Padding, marked_padding
from npuflow.ops.views import base_of, views_of
from npuflow.schedule.nest.nest import L1, BufferInfo, Kernel


@dataclass(frozen=True)
class KernelOperands:
    """A kernel's buffers: each once, by what they were allocated as. Those that nobody touches are `unused`."""

    reads: tuple[ir.Value, ...]
    writes: tuple[ir.Value, ...]
    unused: tuple[ir.Value, ...]

    @property
    def arguments(self) -> tuple[ir.Value, ...]:
        """What the kernel's function takes, in order."""
        return (*self.reads, *(value for value in self.writes if value not in self.reads))


def kernel_operands(op: ir.Operation) -> KernelOperands:
    """An operand is read if the op's body uses its element: a sum reads what it adds to, nobody a window's shape.

    Who writes a part of a buffer leaves the rest as it was, which comes to reading that.
    """
    body = op.regions[0].blocks[0].arguments if op.regions else ()
    first_output = len(op.operands) - _output_count(op)
    reads, writes, others = [], [], []
    for position, value in enumerate(op.operands):
        if not isinstance(value.type, ir.MemRefType):
            continue
        buffer = base_of(value)
        is_written = position >= first_output
        is_read = any(True for _ in body[position].uses) if op.name == "linalg.generic" else not is_written
        if is_read or (is_written and is_part(value)):
            reads.append(buffer)
        if is_written:
            writes.append(buffer)
        if not is_read and not is_written:
            others.append(buffer)
    touched = [*reads, *writes]
    return KernelOperands(_distinct(reads), _distinct(writes), _distinct([v for v in others if v not in touched]))


def _output_count(op: ir.Operation) -> int:
    if "operandSegmentSizes" in op.attributes:
        return int(list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[-1])
    return 1


def _distinct(values: list[ir.Value]) -> tuple[ir.Value, ...]:
    found: list[ir.Value] = []
    for value in values:
        if value not in found:
            found.append(value)
    return tuple(found)


def is_part(value: ir.Value) -> bool:
    """Whether a value is a view of less than all of its buffer."""
    return prod(ir.MemRefType(value.type).shape) < prod(ir.MemRefType(base_of(value).type).shape)


def kernel_kind(op: ir.Operation) -> str:
    """What reports call a kernel.

    `fill`; `matmul`, sums of products with m, n and k loops; `window`, what reads along sums of loops; `reduction`,
    other ops with reduction loops; `elementwise`, all else.
    """
    if op.name == "linalg.fill":
        return "fill"
    contraction = match_contraction(op)
    if contraction is not None and contraction.m and contraction.n and contraction.k:
        return "matmul"
    if op.name != "linalg.generic":
        return "elementwise"
    maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(op)]
    if any(isinstance(result, (ir.AffineAddExpr, ir.AffineMulExpr)) for m in maps for result in m.results):
        return "window"
    return "reduction" if any("reduction" in str(kind) for kind in op.attributes["iterator_types"]) else "elementwise"


def read_kernel(op: ir.Operation, key: int, code: str, buffer_of: Callable[[ir.Value], BufferInfo]) -> Kernel:
    """The op as a kernel, which works on whole buffers in L1; `code` is what it computes (see `kernel_code`)."""
    operands = kernel_operands(op)
    outside = [buffer for buffer in map(buffer_of, operands.arguments) if buffer.space != L1]
    if outside:
        raise fail(op, f"{op.name} works on {outside[0].name}, which is not in L1", "promote its operands to L1")
    if any(len(view.operands) > 1 for value in op.operands for view in views_of(value)):
        what = f"{op.name} works on a part of a buffer whose place or size is not constant"
        raise fail(op, what, "copy the part to a buffer of its own")
    reads, writes = (tuple(map(buffer_of, side)) for side in (operands.reads, operands.writes))
    padding = tuple((buffer_of(value), found) for value in operands.reads if (found := _padding(op, value)))
    return Kernel(key, kernel_kind(op), code, reads, writes, location_of(op), padding)


def _padding(op: ir.Operation, buffer: ir.Value) -> tuple[Padding, ...]:
    """What the engine may make up around a buffer, where all that an op reads of it is said to be padded alike."""
    numbers = [number for number, value in enumerate(op.operands) if base_of(value) == buffer]
    found = {marked_padding(op, number) if op.operands[number] == buffer else () for number in numbers}
    return found.pop() if len(found) == 1 else ()


def is_zero(value: ir.Value) -> bool:
    """Whether a scalar is the constant 0."""
    owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if owner is None or owner.name != "arith.constant":
        return False
    number = owner.attributes["value"]
    return (ir.FloatAttr(number).value if isinstance(number, ir.FloatAttr) else ir.IntegerAttr(number).value) == 0
