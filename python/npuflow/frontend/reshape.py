"""Building ops on collapsed operands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir, tensor
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, moved, shape_of
from npuflow.ops.contraction import producer
from npuflow.ops.reshapes import unreshaped


@dataclass(frozen=True)
class Grouped:
    """An operand's dimensions in groups: the loop that each group follows, and the dimensions that it takes."""

    loops: tuple[int, ...]
    dims: tuple[tuple[int, ...], ...]


def regroup(
    op: ir.Operation,
    grouped: Sequence[Grouped],
    sizes: Sequence[int],
    kinds: Sequence[str],
    *,
    order: Sequence[int],
    known: Mapping[int, ir.Value] | None = None,
) -> ir.Operation:
    """A linalg.generic of one result on collapsed operands, its inputs in `order`; `known` ones are collapsed already.

    The body moves, so `op` is to be erased.
    """
    known = known or {}
    last = len(op.operands) - 1
    block = op.regions[0].blocks[0]
    with at(op):
        values = {i: known.get(i) or collapsed(op.operands[i], grouped[i].dims) for i in order}
        values[last] = collapsed(op.operands[last], grouped[last].dims)
        places = [*order, last]
        maps = [
            ir.AffineMap.get(len(sizes), 0, [ir.AffineExpr.get_dim(loop) for loop in grouped[i].loops]) for i in places
        ]
        made = generic_op([values[i] for i in order], [values[last]], maps, kinds)
    arguments = list(block.arguments)
    for i in places:
        arguments[i].replace_all_uses_with(block.add_argument(arguments[i].type, op.location))
    for _ in arguments:
        block.erase_argument(0)
    block.append_to(made.regions[0])
    return made


def collapsed(value: ir.Value, dims: Sequence[Sequence[int]]) -> ir.Value:
    """A tensor with dimensions taken together; what is filled or empty is made anew, what was so before is taken."""
    shape = shape_of(value)
    if len(dims) == len(shape):
        return value
    new = [math.prod(shape[d] for d in group) for group in dims]
    element, before = element_type_of(value), unreshaped(value)
    if before != value and shape_of(before) == new:
        return before
    filled = producer(value, "linalg.fill")
    if filled is not None:
        return fill(filled.operands[0], collapsed(filled.operands[1], dims))
    if producer(value, "tensor.empty") is not None:
        return empty(new, element)
    return tensor.CollapseShapeOp(ir.RankedTensorType.get(new, element), value, [list(g) for g in dims]).result


def expanded(value: ir.Value, shape: Sequence[int], dims: Sequence[Sequence[int]], *, at_op: ir.Operation) -> ir.Value:
    """The reverse: `value` in the shape that was collapsed to it."""
    if len(dims) == len(shape):
        return value
    with at(at_op):
        kind = ir.RankedTensorType.get(list(shape), element_type_of(value))
        return tensor.ExpandShapeOp(kind, value, [list(g) for g in dims], [], list(shape)).result


def in_memory(value: ir.Value) -> ir.Value:
    """A view of a tensor as a tensor of its own: an op moves it.

    The op's loop of one in front keeps MLIR from taking it for a copy that nobody needs.
    """
    shape, element = shape_of(value), element_type_of(value)
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(loop) for loop in range(rank + 1)]
    read, written = (ir.AffineMap.get(rank + 1, 0, dims) for dims in (loops[1:], loops))
    with at(value.owner.operation, after=True):
        made = moved(value, empty([1, *shape], element), read, written)
        groups = [[0, 1], *([d] for d in range(2, rank + 1))] if rank else []
        return tensor.CollapseShapeOp(value.type, made, groups).result
