"""Slices of transposed tensors, as transposed slices. Edits IR."""

from __future__ import annotations

from npuflow.bindings import ir, tensor
from npuflow.core.build import (
    at,
    element_type_of,
    empty,
    extract_slice,
    has_unit_strides,
    is_static,
    moved,
    offsets_of,
    reassociation_of,
    shape_of,
    sizes_of,
)
from npuflow.ops.contraction import is_parallel, producer, users


def slices_first(view: ir.Operation, source: ir.AffineMap) -> list[ir.Operation]:
    """Lets all that is cut out of a transposed tensor be cut out of what was transposed, and transposed alone.

    That needs elementwise ops to read the slices, which then read them as they lie. Returns the ops that transpose
    them, none where nothing was done; `source` says where the view's elements lie in what it moves.
    """
    reshape = next((user for user in users(view.results[0]) if _adds_unit_dims(user)), None)
    cuts = users((view if reshape is None else reshape).results[0])
    is_only = reshape is None or len(users(view.results[0])) == 1
    if not source.is_permutation or not is_only or not cuts or not all(map(_is_read_by_elements, cuts)):
        return []
    groups = [[d] for d in range(source.n_dims)] if reshape is None else reassociation_of(reshape)
    made = [_transposed_slice(cut, view.operands[0], source, groups) for cut in cuts]
    for op in (reshape, view):
        if op is not None:
            op.erase()
    return made


def _adds_unit_dims(op: ir.Operation) -> bool:
    """Whether an op gives a tensor dimensions of one element, and nothing else."""
    if op.name != "tensor.expand_shape" or not is_static(op):
        return False
    shape = shape_of(op.results[0])
    return all(sum(shape[d] != 1 for d in group) <= 1 for group in reassociation_of(op))


def _is_read_by_elements(op: ir.Operation) -> bool:
    """Whether an op takes elements side by side, at known places, for nobody but elementwise ops."""
    if op.name != "tensor.extract_slice" or len(op.operands) != 1 or not is_static(op):
        return False
    is_plain = has_unit_strides(op) and sizes_of(op) == shape_of(op.results[0])
    return is_plain and all(is_parallel(user) for user in users(op.results[0]))


def _transposed_slice(
    cut: ir.Operation, value: ir.Value, source: ir.AffineMap, groups: list[list[int]]
) -> ir.Operation:
    """What a slice of a transposed tensor is, as a slice of `value`, transposed; `groups` are as it is reshaped."""
    shape, sizes = shape_of(cut.operands[0]), shape_of(cut.results[0])
    order = [groups[expression.position] for expression in source.results]
    kept = [max(group, key=lambda d: shape[d]) for group in order]
    dims = [d for group in order for d in group]
    starts = [sum(map(len, order[:number])) for number in range(len(order))]
    reassociation = [[start + i for i in range(len(group))] for start, group in zip(starts, order)]
    read = ir.AffineMap.get(len(shape), 0, [ir.AffineExpr.get_dim(d) for d in dims])
    with at(cut):
        part = extract_slice(value, [offsets_of(cut)[d] for d in kept], [sizes[d] for d in kept])
        if len(dims) > len(order):
            kind = ir.RankedTensorType.get([sizes[d] for d in dims], element_type_of(value))
            part = tensor.ExpandShapeOp(kind, part, reassociation, [], [sizes[d] for d in dims]).result
        target = empty(sizes, element_type_of(value))
        made = moved(part, target, read, ir.AffineMap.get_identity(len(sizes)))
    cut.results[0].replace_all_uses_with(made)
    cut.erase()
    view = producer(made)
    assert view is not None
    return view
