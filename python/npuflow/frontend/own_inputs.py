"""Gives who reads what is computed in no time a computation of its own: repeated tensors, and slices. Edits IR."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import (
    at,
    element_type_of,
    empty,
    extract_slice,
    has_unit_strides,
    is_static,
    offsets_of,
    shape_of,
    sizes_of,
    tensor_bytes,
)
from npuflow.core.copies import remade
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import BUNDLE, COSTLY, is_elementwise, is_parallel, only_moves, producer, users
from npuflow.ops.linear import input_count, maps_of
from npuflow.ops.products import match_products
from npuflow.ops.reshapes import unreshaped

_EXPAND = "tensor.expand_shape"
_OF_SHIFTS = {"arith.addf", "arith.extf", "arith.subf", "linalg.yield"}


def repeat_for_each(op: ir.Operation) -> int:
    """Repeats or shifts a tensor anew for each op that can do so itself as it reads it; returns how often."""
    made = 0
    for source in ops_of(op, "linalg.generic"):
        if (only_moves(source) and _is_of_less(source)) or _is_shift(source):
            made += _copied_for_each(source)
    return made


def _copied_for_each(op: ir.Operation) -> int:
    """An op for each that reads it, through a shape of its own."""
    made = 0
    for expand in users(op.results[0]):
        if expand.name == _EXPAND:
            made += _copied_for_each(expand)
    for use in list(op.results[0].uses)[1:]:
        user = use.owner.operation
        if user.name == _EXPAND or is_parallel(user) or _sums_once(user, use.operand_number):
            with at(op, after=True):
                user.operands[use.operand_number] = op.clone().operation.results[0]
            made += 1
    return made


def _sums_once(op: ir.Operation, number: int) -> bool:
    """Whether an op sums up what it makes of each element of an operand alone, as of a norm's squares."""
    is_sum = op.name == "linalg.generic" and number < input_count(op) and match_products(op) is None
    return is_sum and maps_of(op)[number].is_permutation


def _is_shift(op: ir.Operation) -> bool:
    """Whether an op adds a number of each row, or the like, to what nobody has just summed up: a sum has one tail."""
    if not _is_plain_op(op) or not {inner.name for inner in ops_of(op)} <= _OF_SHIFTS:
        return False
    inputs = list(zip(list(op.operands)[: input_count(op)], maps_of(op)))
    whole = [value for value, map_ in inputs if map_.is_permutation]
    if len(whole) != 1 or len(inputs) == 1 or tensor_bytes(whole[0]) > tensor_bytes(op.results[0]):
        return False
    source = producer(unreshaped(whole[0]))
    return source is None or not source.name.startswith("linalg.") or is_elementwise(source)


def slice_inputs(op: ir.Operation) -> int:
    """Makes slices of what is computed of fewer bytes from slices of these; returns how many."""
    made = 0
    for cut in ops_of(op, "tensor.extract_slice"):
        source = producer(cut.operands[0], "linalg.generic")
        if source is not None and _is_of_less(source) and _is_plain(cut):
            cut.results[0].replace_all_uses_with(_computed_of_slices(source, cut))
            cut.erase()
            made += 1
    return made


def _is_of_less(op: ir.Operation) -> bool:
    """Whether an op computes its result at little cost, of fewer bytes."""
    is_cheap = _is_plain_op(op) and not any(inner.name.startswith(COSTLY) for inner in ops_of(op))
    return is_cheap and _bytes_read(op) < tensor_bytes(op.results[0])


def _is_plain_op(op: ir.Operation) -> bool:
    """Whether an elementwise op, in no bundle, reads what follows its loops, or some of them."""
    is_plain = BUNDLE not in op.attributes and is_static(op) and is_elementwise(op)
    return is_plain and all(map_.is_projected_permutation for map_ in maps_of(op))


def _is_plain(cut: ir.Operation) -> bool:
    return is_static(cut) and has_unit_strides(cut) and sizes_of(cut) == shape_of(cut.results[0])


def _bytes_read(op: ir.Operation) -> int:
    inputs = list(op.operands)[: input_count(op)]
    return sum(tensor_bytes(value) for value in inputs if isinstance(value.type, ir.RankedTensorType))


def _computed_of_slices(op: ir.Operation, cut: ir.Operation) -> ir.Value:
    offsets, sizes, inputs = offsets_of(cut), sizes_of(cut), []
    with at(cut):
        for value, map_ in zip(list(op.operands)[: input_count(op)], maps_of(op)):
            dims = [ir.AffineDimExpr(each).position for each in map_.results]
            if not isinstance(value.type, ir.RankedTensorType):
                inputs.append(value)
                continue
            inputs.append(extract_slice(value, [offsets[d] for d in dims], [sizes[d] for d in dims]))
        target = empty(shape_of(cut.results[0]), element_type_of(cut.results[0]))
        return remade(op, [*inputs, target]).results[0]
