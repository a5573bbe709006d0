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

_EXPAND = "tensor.expand_shape"


def repeat_for_each(op: ir.Operation) -> int:
    """Repeats a tensor anew for each elementwise op that reads it, so that it can do so itself; returns how often."""
    made = 0
    for repeat in ops_of(op, "linalg.generic"):
        if BUNDLE not in repeat.attributes and is_elementwise(repeat) and only_moves(repeat) and _is_of_less(repeat):
            made += _copied_for_each(repeat)
    return made


def _copied_for_each(op: ir.Operation) -> int:
    """An op for each that reads it, through a shape of its own."""
    made = 0
    for expand in users(op.results[0]):
        if expand.name == _EXPAND:
            made += _copied_for_each(expand)
    for use in list(op.results[0].uses)[1:]:
        user = use.owner.operation
        if user.name == _EXPAND or is_parallel(user):
            with at(op, after=True):
                user.operands[use.operand_number] = op.clone().operation.results[0]
            made += 1
    return made


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
    is_plain = BUNDLE not in op.attributes and is_static(op) and is_elementwise(op)
    if not is_plain or not all(map_.is_projected_permutation for map_ in maps_of(op)):
        return False
    return _bytes_read(op) < tensor_bytes(op.results[0]) and not any(
        inner.name.startswith(COSTLY) for inner in ops_of(op)
    )


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
