"""Zeros around what windows read, as a matrix engine may make them up: how many on each side, and of which window.

`npu.padded` on an op has them for each operand, none for those whose zeros come with their elements. Reads IR, and
changes nothing but the mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.ops.bundle_ops import pads_with_zeros
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear, iterators, linear_maps, loop_extents

PADDED = "npu.padded"


@dataclass(frozen=True)
class Padding:
    """Of a dimension: the zeros before and behind it, and how many indices the window that reads it spans (1: none)."""

    low: int
    high: int
    window: int = 1

    @property
    def most(self) -> int:
        return max(self.low, self.high)


def padding_read(op: ir.Operation, number: int) -> tuple[Padding, ...]:
    """The zeros around an operand, by dimension; none where it isn't padded, or by something else."""
    pad = producer(op.operands[number], "tensor.pad")
    windows = _windows(op, number)
    if pad is None or windows is None or not pads_with_zeros(pad):
        return ()
    sides = (list(ir.DenseI64ArrayAttr(pad.attributes[name])) for name in ("static_low", "static_high"))
    return tuple(Padding(int(low), int(high), window) for low, high, window in zip(*sides, windows))


def mark_padded(op: ir.Operation, paddings: Sequence[Sequence[Padding]]) -> None:
    """Says of each operand which zeros the engine makes up."""
    lists = [[side for one in found for side in (one.low, one.high)] for found in paddings]
    op.attributes[PADDED] = ir.ArrayAttr.get([ir.DenseI64ArrayAttr.get(each) for each in lists], op.context)


def marked_padding(op: ir.Operation, number: int) -> tuple[Padding, ...]:
    """What the mark says of an operand, with the windows that the op has now; none where it says nothing."""
    mark = op.attributes.get(PADDED, None)
    lists = list(mark) if isinstance(mark, ir.ArrayAttr) else []
    if number >= len(lists) or not isinstance(lists[number], ir.DenseI64ArrayAttr):
        return ()
    sides, windows = [int(side) for side in lists[number]], _windows(op, number)
    if windows is None or len(sides) != 2 * len(windows):
        return ()
    return tuple(Padding(low, high, window) for low, high, window in zip(sides[::2], sides[1::2], windows))


def _windows(op: ir.Operation, number: int) -> tuple[int, ...] | None:
    """How many indices the windows of an operand span, by dimension; None where it isn't indexed by sums of loops."""
    maps = linear_maps(op) if op.name == "linalg.generic" else None
    if maps is None:
        return None
    extents, kinds = loop_extents(op), iterators(op)
    return tuple(_window(dim, extents, kinds) for dim in maps[number])


def _window(dim: Linear, extents: Sequence[int], kinds: Sequence[str]) -> int:
    if len(dim.terms) < 2:
        return 1
    return 1 + sum(step * (extents[loop] - 1) for loop, step in dim.terms if kinds[loop] == "reduction")
