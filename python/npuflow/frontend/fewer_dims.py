"""Ops without loops of one step, and without dimensions of one element. Edits IR."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.build import at, generic_op, shape_of
from npuflow.frontend.reshape import collapsed, expanded
from npuflow.ops.linear import composed, input_count, iterators, maps_of


def rewrite_without(op: ir.Operation, loops: Sequence[int], dropped: Sequence[Sequence[int]]) -> ir.Operation:
    """Replaces an op by one without loops of one step, and without dimensions of its operands."""
    inputs, kinds = input_count(op), iterators(op)
    kept = [loop for loop in range(len(kinds)) if loop not in loops]
    shapes = [shape_of(value) if isinstance(value.type, ir.ShapedType) else [] for value in op.operands]
    groups = [groups_without(shape, dims) for shape, dims in zip(shapes, dropped)]
    with at(op):
        zero = ir.AffineExpr.get_constant(0)
        renamed = [ir.AffineExpr.get_dim(kept.index(i)) if i in kept else zero for i in range(len(kinds))]
        among = ir.AffineMap.get(len(kept), 0, renamed)
        maps = [
            ir.AffineMap.get(len(kept), 0, [r for d, r in enumerate(composed(map_, among).results) if d not in dims])
            for map_, dims in zip(maps_of(op), dropped)
        ]
        values = [collapsed(value, its) if dims else value for value, its, dims in zip(op.operands, groups, dropped)]
        made = generic_op(values[:inputs], values[inputs:], maps, [kinds[loop] for loop in kept], dict(op.attributes))
    op.regions[0].blocks[0].append_to(made.regions[0])
    for old, new, its in zip(op.results, made.results, groups[inputs:]):
        if any(True for _ in old.uses):
            old.replace_all_uses_with(expanded(new, shape_of(old), its, at_op=op))
    op.erase()
    return made


def groups_without(shape: Sequence[int], dropped: Sequence[int]) -> list[list[int]]:
    """Which dimensions of a tensor become one where some are dropped: those go along with the one before, or behind."""
    groups: list[list[int]] = [[d] for d in range(len(shape)) if d not in dropped]
    for d in dropped:
        if groups:
            max((g for g in groups if g[0] < d), key=lambda g: g[0], default=groups[0]).append(d)
    return [sorted(group) for group in groups]
