"""A softmax in front of a sum of products, made to run piece by piece. Edits IR.

The division moves behind the sum, which is linear, and each piece corrects what is there by how much the maximum has
grown. That is the same function of real numbers; roundings differ.

    m = max(s), p = exp(s - m), l = sum(p), q = p / l, r = sum(q v)

becomes, with m and b the lowest number, l = 0 and o = 0 in front of the first piece,

    m = max(m, max(s))                     running
    b, a, l = m, exp(b - m), l a           running
    p = exp(s - b)
    l = l + sum(p)
    o = o a                                running
    o = o + sum(p v)

and r = o / l behind the last one. Where s = f(t) and f never falls, m is the largest t, and b = f(m).
"""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, generic_op, shape_of
from npuflow.fusion.inline_producer import copied_body, inline_producer
from npuflow.fusion.weighted_sums import (
    LOWEST,
    converted,
    erase_softmax,
    identity_of,
    power,
    product_of_weights,
    quotient_of,
    rows_of_product,
    total_of,
    weights_of,
)
from npuflow.ops.contraction import RUNNING
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.softmax import WeightedSum, never_falls


def run_by_pieces(found: WeightedSum) -> list[ir.Operation]:
    """Replaces a softmax and its sum; returns the ops that are now in their place, in order.

    A mask in front is computed for the maximum and for the exponentials alike: that is less than a pass.
    """
    scaling = next(iter(found.scaling), None)
    with at(found.product):
        start, largest = _running_maximum(found, scaling)
        update = _update(found, start, largest.results[0], scaling)
        maximum, factor, scaled = update.results
        weights = weights_of(found, maximum)
        total = total_of(found, weights, scaled)
        corrected = _corrected(found, factor)
        product = product_of_weights(found, weights, corrected)
        result = quotient_of(found, product, total)
    found.product.results[0].replace_all_uses_with(result)
    erase_softmax(found)
    exponentials = weights.owner.operation
    if scaling is not None:
        exponentials = inline_producer(scaling, exponentials)
        largest = largest if never_falls(scaling) else inline_producer(scaling, largest)
        scaling.erase()
    rest = (value.owner.operation for value in (total, corrected, product, result))
    return [start, largest, update, exponentials, *rest]


def _running_maximum(found: WeightedSum, scaling: ir.Operation | None) -> tuple[ir.Operation, ir.Operation]:
    """What rows begin with, and the maximum of scores; of scores before they are scaled, where that has the same place.

    Rows begin with numbers, so that differences of maxima are numbers where all scores of a piece are -inf.
    """
    source = scaling.operands[0] if scaling is not None and never_falls(scaling) else found.scores
    rows, total = found.largest.results[0], found.total.results[0]
    kinds = [element_type_of(source) if source != found.scores else element_type_of(rows)]
    kinds += [element_type_of(rows), element_type_of(total)]
    identity = identity_of(rows)
    targets = [empty(shape_of(rows), kind) for kind in kinds]
    start = generic_op([], targets, [identity] * 3, ["parallel"] * identity.n_dims)
    block = start.regions[0].blocks.append(*kinds, arg_locs=[start.location] * 3)
    with ir.InsertionPoint(block):
        numbers = zip(kinds, (LOWEST[str(kinds[0])], LOWEST[str(kinds[1])], 0.0))
        linalg.YieldOp([arith.ConstantOp(kind, ir.FloatAttr.get(kind, number)).result for kind, number in numbers])
    maps, loops = maps_of(found.largest), iterators(found.largest)
    largest = generic_op([source], [start.results[0]], maps, loops, _running())
    types = [element_type_of(source), kinds[0]]
    block = largest.regions[0].blocks.append(*types, arg_locs=[largest.location] * 2)
    with ir.InsertionPoint(block):
        score, so_far = block.arguments
        linalg.YieldOp([arith.MaximumFOp(converted(score, kinds[0]), so_far).result])
    return start, largest


def _update(found: WeightedSum, start: ir.Operation, largest: ir.Value, scaling: ir.Operation | None) -> ir.Operation:
    """The maximum of scaled scores, by what the sums of pieces before have to be multiplied, their total times that."""
    _, before, total = start.results
    outputs = [before, _like(before), total]
    identity, kinds = identity_of(before), [element_type_of(value) for value in (largest, *outputs)]
    op = generic_op([largest], outputs, [identity] * 4, ["parallel"] * identity.n_dims, _running())
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * 4)
    with ir.InsertionPoint(block):
        new, old, _, so_far = block.arguments
        if scaling is not None and never_falls(scaling):
            new = copied_body(scaling, [new])
        new = arith.MaximumFOp(old, converted(new, old.type)).result
        factor = power(found.exponential, old, new)
        linalg.YieldOp([new, factor, arith.MulFOp(so_far, converted(factor, so_far.type)).result])
    return op


def _corrected(found: WeightedSum, factor: ir.Value) -> ir.Value:
    """The running sum of products times what its maximum has changed by."""
    start = found.product.operands[input_count(found.product)]
    element, identity = element_type_of(start), identity_of(start)
    op = generic_op([factor], [start], [rows_of_product(found), identity], ["parallel"] * identity.n_dims, _running())
    kinds = [element_type_of(factor), element]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * 2)
    with ir.InsertionPoint(block):
        linalg.YieldOp([arith.MulFOp(block.arguments[1], converted(block.arguments[0], element)).result])
    return op.results[0]


def _like(value: ir.Value) -> ir.Value:
    return empty(shape_of(value), element_type_of(value))


def _running() -> Mapping[str, ir.Attribute]:
    return {RUNNING: ir.UnitAttr.get()}
