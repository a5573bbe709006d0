"""Index values as data: affine sums, and minima of a constant and one. Reads affine expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.schedule.affine import Affine


@dataclass(frozen=True)
class Extent:
    """min(full, limit): how many indices of a dimension exist."""

    full: int
    limit: Affine | None = None


Number = Affine | Extent


def evaluate_affine(op: ir.Operation, expression: ir.AffineExpr, values: Sequence[Number], dims: int) -> Number:
    """An affine expression over known numbers."""
    if isinstance(expression, ir.AffineConstantExpr):
        return Affine(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return values[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return values[dims + expression.position]
    left = evaluate_affine(op, expression.lhs, values, dims)
    right = evaluate_affine(op, expression.rhs, values, dims)
    result = _combine(expression, left, right)
    if result is None:
        raise fail(op, f"the index expression {expression} cannot be scheduled", "use sums of constant multiples")
    return result


def _combine(expression: ir.AffineExpr, left: Number, right: Number) -> Number | None:
    if isinstance(left, Extent) or isinstance(right, Extent):
        return _combine_extents(expression, left, right)
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr) and (left.is_constant or right.is_constant):
        return left * right.constant if right.is_constant else right * left.constant
    if isinstance(expression, ir.AffineFloorDivExpr) and right.is_constant:
        return left.exact_quotient(right.constant)
    return None


def _combine_extents(expression: ir.AffineExpr, left: Number, right: Number) -> Number | None:
    """ceildiv of an extent by a tile: as many tiles as it takes, of which the last may be partial."""
    if isinstance(left, Extent) and isinstance(right, Affine) and isinstance(expression, ir.AffineCeilDivExpr):
        return Extent(-(-left.full // right.constant), None)
    return None
