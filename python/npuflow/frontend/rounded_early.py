"""Where a tensor is rounded that only has elements of others: these are, which takes fewer bytes. Edits IR."""

from __future__ import annotations

from collections.abc import Callable

from npuflow.bindings import ir
from npuflow.core.build import after_value, element_type_of, shape_of
from npuflow.frontend.product_layers import moved_like, moves
from npuflow.ops.contraction import only_user, producer


def rounded_early(value: ir.Value, rounded: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """A tensor of f32 in i8, by `rounded` of what its elements are of, if nobody else wants that as it is.

    Elements go on as they are where they are moved about, zeros put between them, or joined.
    """
    op = producer(value)
    if op is None:
        return rounded(value)
    with after_value(value):
        if op.name == "tensor.concat" and all(only_user(part) is not None for part in op.operands):
            return _joined(op, [rounded_early(part, rounded) for part in op.operands])
        if moves(op) and only_user(op.operands[0]) is not None:
            source = op.operands[0]
            return moved_like(value, source, rounded_early(source, rounded))
    return rounded(value)


def _joined(concat: ir.Operation, parts: list[ir.Value]) -> ir.Value:
    kind = ir.RankedTensorType.get(shape_of(concat.results[0]), element_type_of(parts[0]))
    return ir.Operation.create("tensor.concat", [kind], parts, dict(concat.attributes)).results[0]
