"""A softmax in front of a sum of products, whose division is made behind the sum. Edits IR.

The sum is linear, and has fewer elements than there are weights. That is the same function of real numbers; roundings
differ.

    m = max(s), p = exp(s - m), l = sum(p), q = p / l, r = sum(q v)

becomes

    m = max(s), p = exp(s - m), i = 1 / sum(p), o = sum(p v), r = o i

A row's maximum is one of its scores, and is found in their type and extended once. It begins with the lowest number: a
row of -inf has no weights then, and needs no test of its own for what PyTorch makes 0.
"""

from __future__ import annotations

from collections.abc import Callable

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, shape_of, zero
from npuflow.fusion.weighted_sums import (
    LOWEST,
    converted,
    elementwise,
    erase_softmax,
    identity_of,
    product_of_weights,
    scaled_by_rows,
    total_of,
    weights_of,
)
from npuflow.ops.linear import input_count, iterators, loop_extents, maps_of
from npuflow.ops.softmax import WeightedSum


def divide_behind(found: WeightedSum) -> list[ir.Operation]:
    """Replaces a softmax and its sum; returns the ops that are now in their place, in order.

    What scales or masks scores stays in front of them.
    """
    return _divide_behind(found, total_of)


def divide_behind_products(found: WeightedSum) -> list[ir.Operation]:
    """The same, with totals that are sums of products by one, for an engine that has nothing to do meanwhile."""
    return _divide_behind(found, _total_of_products)


def _divide_behind(
    found: WeightedSum, total_of: Callable[[WeightedSum, ir.Value, ir.Value], ir.Value]
) -> list[ir.Operation]:
    scaling, kind = found.scaling, element_type_of(found.largest.results[0])
    with at(found.product):
        largest = _largest(found)
        extended = _extended(largest, kind)
        weights = weights_of(found, extended)
        total = total_of(found, weights, found.total.operands[input_count(found.total)])
        inverse = _inverse(total, is_guarded=found.empty is not None)
        product = product_of_weights(found, weights, found.product.operands[input_count(found.product)])
        result = scaled_by_rows(found, product, inverse)
    found.product.results[0].replace_all_uses_with(result)
    erase_softmax(found)
    made = dict.fromkeys(
        value.owner.operation for value in (largest, extended, weights, total, inverse, product, result)
    )
    return [*scaling, *made]


def _extended(largest: ir.Value, kind: ir.Type) -> ir.Value:
    """Maxima in the type of differences: once for each row, not for each of its scores."""
    if element_type_of(largest) == kind:
        return largest
    return elementwise([largest], [identity_of(largest)], kind, lambda number: converted(number, kind))


def _inverse(total: ir.Value, *, is_guarded: bool) -> ir.Value:
    """What a row's sums are multiplied by; 0 for one without weights, where its quotients are made 0."""

    def inverse(number: ir.Value) -> ir.Value:
        one, nothing = (arith.ConstantOp(number.type, ir.FloatAttr.get(number.type, n)).result for n in (1.0, 0.0))
        divided = arith.DivFOp(one, number).result
        if not is_guarded:
            return divided
        return arith.SelectOp(arith.CmpFOp(arith.CmpFPredicate.OEQ, number, nothing).result, nothing, divided).result

    return elementwise([total], [identity_of(total)], element_type_of(total), inverse)


def _largest(found: WeightedSum) -> ir.Value:
    """The maximum of each row's scores, at least the lowest number."""
    element, shape = element_type_of(found.scores), shape_of(found.largest.results[0])
    lowest = arith.ConstantOp(element, ir.FloatAttr.get(element, LOWEST[str(element)])).result
    start = fill(lowest, empty(shape, element))
    op = generic_op([found.scores], [start], maps_of(found.largest), iterators(found.largest))
    block = op.regions[0].blocks.append(element, element, arg_locs=[op.location] * 2)
    with ir.InsertionPoint(block):
        linalg.YieldOp([arith.MaximumFOp(*block.arguments).result])
    return op.results[0]


def _total_of_products(found: WeightedSum, weights: ir.Value, start: ir.Value) -> ir.Value:
    """The sum of what the product really multiplies, as a product with a column of ones."""
    element, sums = element_type_of(weights), element_type_of(start)
    (whole, rows), kinds = maps_of(found.total), iterators(found.total)
    count = len(kinds)
    loops = [ir.AffineExpr.get_dim(loop) for loop in range(count + 1)]
    summed = [loop for loop in range(count) if kinds[loop] == "reduction"]
    extents = [loop_extents(found.total)[loop] for loop in summed]
    maps = [
        ir.AffineMap.get(count + 1, 0, whole.results),
        ir.AffineMap.get(count + 1, 0, [*(loops[loop] for loop in summed), loops[count]]),
        ir.AffineMap.get(count + 1, 0, [*rows.results, loops[count]]),
    ]
    column = ir.RankedTensorType.get([*extents, 1], element)
    ones = arith.ConstantOp(column, ir.DenseElementsAttr.get_splat(column, ir.FloatAttr.get(element, 1.0))).result
    target = fill(zero(sums), empty([*shape_of(start), 1], sums))
    op = generic_op([weights, ones], [target], maps, [*kinds, "parallel"])
    block = op.regions[0].blocks.append(element, element, sums, arg_locs=[op.location] * 3)
    with ir.InsertionPoint(block):
        left, right, so_far = block.arguments
        product = arith.MulFOp(converted(left, sums), converted(right, sums)).result
        linalg.YieldOp([arith.AddFOp(so_far, product).result])
    return op.results[0]
