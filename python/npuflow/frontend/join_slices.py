"""npuflow-join-slices: tensors put together from others are elementwise ops on padded ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import arith, ir, linalg, tensor
from npuflow.constants.known_tensors import tensor_constant
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import (
    all_true,
    at,
    element_type_of,
    empty,
    extract_slice,
    generic_op,
    is_static,
    padded_by,
    shape_of,
    zero,
)
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer
from npuflow.ops.insertions import is_written_in_place, updating_insertions

_CONCAT, _INSERT = "tensor.concat", "tensor.insert_slice"
# What an op reads at a time takes slots, locks and descriptors; more are joined in steps.
_MOST_AT_ONCE = 8


@dataclass(frozen=True)
class _Inset:
    """Where a slice lies in a tensor."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@register_pass
@dataclass(frozen=True)
class JoinSlices(Pass):
    """Makes concatenations and inserted slices padding, and a choice where more than one tensor comes in.

        %r = tensor.concat dim(0) %a, %b : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>

    becomes

        %which = arith.constant dense<[0, 0, 0, 1, 1, 1, 1, 1]> : tensor<8xi8>
        %p = tensor.pad %a low[0] high[5] { tensor.yield %zero } : tensor<3xf32> to tensor<8xf32>
        %q = tensor.pad %b low[3] high[0] { tensor.yield %zero } : tensor<5xf32> to tensor<8xf32>
        %r = linalg.generic ... ins(%p, %q, %which) { arith.select (%which is 1), %q, %p }

    so that it is fused with what makes the tensors and what reads the result. Padding is inserted by transfers, so
    nothing but the tensors themselves is read from L3. A slice that is inserted into what is filled by a constant is
    padding alone, with a dimension of its own for strides: `x` at every second place is `[x, 0]`, collapsed. Slices by
    which an argument is updated in its own place stay what they are (`npuflow-update-arguments`).
    """

    name = "npuflow-join-slices"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for concat in ops_of(op, _CONCAT):
            if not is_static(concat):
                continue
            with at(concat):
                joined = _joined(list(concat.operands), int(ir.IntegerAttr(concat.attributes["dim"]).value))
            _replace(concat, joined)
            context.count("concatenations")
        updating = updating_insertions(op)
        for insert in ops_of(op, _INSERT):
            where = _where(insert)
            if where is None or is_written_in_place(insert) or insert in updating:
                continue
            with at(insert):
                made = _inserted(insert.operands[0], insert.operands[1], where)
            _replace(insert, made)
            context.count("slices inserted")


def _replace(op: ir.Operation, value: ir.Value) -> None:
    op.results[0].replace_all_uses_with(value)
    op.erase()


def _joined(values: Sequence[ir.Value], dimension: int) -> ir.Value:
    """Tensors one behind the other along a dimension, few at a time."""
    while len(values) > _MOST_AT_ONCE:
        count = -(-len(values) // _MOST_AT_ONCE)
        size = -(-len(values) // count)
        values = [_joined(values[i : i + size], dimension) for i in range(0, len(values), size)]
    if len(values) == 1:
        return values[0]
    sizes = [shape_of(value)[dimension] for value in values]
    nothing = zero(element_type_of(values[0]))
    padded, begin = [], 0
    for value, size in zip(values, sizes):
        rank = len(shape_of(value))
        low = [begin if d == dimension else 0 for d in range(rank)]
        high = [sum(sizes) - begin - size if d == dimension else 0 for d in range(rank)]
        padded.append(padded_by(value, low, high, nothing))
        begin += size
    return _chosen(padded, {dimension: np.repeat(np.arange(len(values), dtype=np.int8), sizes)})


def _chosen(values: Sequence[ir.Value], which: Mapping[int, Numbers]) -> ir.Value:
    """Of the first value and the others, for each element the one whose number all of `which` say, else the first."""
    shape, element = shape_of(values[0]), element_type_of(values[0])
    i8 = ir.IntegerType.get_signless(8)
    rank = len(shape)
    numbers = [
        arith.ConstantOp(ir.RankedTensorType.get([shape[d]], i8), tensor_constant(which[d], i8)).result for d in which
    ]
    same = ir.AffineMap.get_identity(rank)
    along = [ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d)]) for d in which]
    maps = [*[same] * len(values), *along, same]
    made = generic_op([*values, *numbers], [empty(shape, element)], maps, ["parallel"] * rank)
    block = made.regions[0].blocks.append(*[element] * len(values), *[i8] * len(numbers), element)
    with ir.InsertionPoint(block):
        read = list(block.arguments)
        chosen = read[0]
        for number, value in enumerate(read[1 : len(values)], 1):
            this = arith.ConstantOp(i8, ir.IntegerAttr.get(i8, number)).result
            hits = [arith.CmpIOp(arith.CmpIPredicate.eq, r, this).result for r in read[len(values) : -1]]
            chosen = arith.SelectOp(all_true(hits), value, chosen).result
        linalg.YieldOp([chosen])
    return made.results[0]


def _where(insert: ir.Operation) -> _Inset | None:
    """Where a slice is inserted; None where that isn't static."""
    if len(insert.operands) > 2 or not is_static(insert):
        return None
    view = insert.opview
    found = (view.static_offsets, view.static_sizes, view.static_strides)
    offsets, sizes, strides = (tuple(int(v) for v in ir.DenseI64ArrayAttr(each)) for each in found)
    return _Inset(offsets, sizes, tuple(1 if size == 1 else stride for size, stride in zip(sizes, strides)))


def _inserted(source: ir.Value, target: ir.Value, where: _Inset) -> ir.Value:
    element, shape = element_type_of(source), shape_of(target)
    source = _with_rank(source, where.sizes)
    filled = producer(target, "linalg.fill")
    constant = None if filled is None else producer(filled.operands[0], "arith.constant")
    if _is_empty(target) or (where.sizes == tuple(shape) and set(where.strides) == {1}):
        return _padded(source, shape, where, zero(element))
    if constant is not None:
        return _padded(source, shape, where, constant.results[0])
    which = {}
    for d, size in enumerate(shape):
        numbers = np.zeros(size, np.int8)
        numbers[where.offsets[d] :: where.strides[d]][: where.sizes[d]] = 1
        if not numbers.all():
            which[d] = numbers
    padded = _padded(source, shape, where, zero(element))
    return _chosen([target, padded], which) if which else padded


def _is_empty(value: ir.Value) -> bool:
    """Whether nothing has made any of a tensor's elements."""
    source = producer(value, "tensor.empty", "tensor.extract_slice")
    return source is not None and (source.name == "tensor.empty" or _is_empty(source.operands[0]))


def _with_rank(source: ir.Value, sizes: Sequence[int]) -> ir.Value:
    """The slice with the dimensions of one element that were left out of it."""
    shape = shape_of(source)
    if len(shape) == len(sizes):
        return source
    groups: list[list[int]] = []
    for d, size in enumerate(sizes):
        if len(groups) < len(shape) and size == shape[len(groups)] and len(sizes) - d >= len(shape) - len(groups):
            groups.append([d])
        elif groups:
            groups[-1].append(d)
    first = groups[0][0] if groups else 0
    groups = [[*range(first), *groups[0]], *groups[1:]] if groups else []
    kind = ir.RankedTensorType.get(list(sizes), element_type_of(source))
    return tensor.ExpandShapeOp(kind, source, groups, [], list(sizes)).result


def _padded(source: ir.Value, shape: Sequence[int], where: _Inset, nothing: ir.Value) -> ir.Value:
    """The slice in its place, and `nothing` around it, and between its elements where it has strides."""
    source = _spaced(source, where.strides, nothing)
    sizes = shape_of(source)
    kept = [min(size, shape[d] - where.offsets[d]) for d, size in enumerate(sizes)]
    if kept != list(sizes):
        source = extract_slice(source, [0] * len(kept), kept)
    return padded_by(source, where.offsets, [s - o - k for s, o, k in zip(shape, where.offsets, kept)], nothing)


def _spaced(source: ir.Value, strides: Sequence[int], nothing: ir.Value) -> ir.Value:
    """Elements at every so manieth place; as many behind the last one as between them."""
    strided = [d for d, stride in enumerate(strides) if stride > 1]
    if not strided:
        return source
    shape, element = shape_of(source), element_type_of(source)
    groups: list[list[int]] = []
    wide: list[int] = []
    high: list[int] = []
    for d, size in enumerate(shape):
        more = [1] if d in strided else []
        groups.append(list(range(len(wide), len(wide) + 1 + len(more))))
        wide += [size, *more]
        high += [0, *([strides[d] - 1] if more else [])]
    split = tensor.ExpandShapeOp(ir.RankedTensorType.get(wide, element), source, groups, [], wide).result
    padded = padded_by(split, [0] * len(wide), high, nothing)
    flat = [size * (strides[d] if d in strided else 1) for d, size in enumerate(shape)]
    return tensor.CollapseShapeOp(ir.RankedTensorType.get(flat, element), padded, groups).result
