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

from collections.abc import Callable, Mapping, Sequence

from npuflow.bindings import arith, ir, linalg, math
from npuflow.core.build import at, element_type_of, empty, generic_op, shape_of
from npuflow.fusion.inline_producer import copied_body, inline_producer
from npuflow.ops.contraction import RUNNING
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.softmax import WeightedSum, never_falls

_LOWEST = {
    "f16": -65504.0,
    "bf16": -3.3895313892515355e38,
    "f32": -3.4028234663852886e38,
    "f64": -1.7976931348623157e308,
}


def run_by_pieces(found: WeightedSum) -> list[ir.Operation]:
    """Replaces a softmax and its sum; returns the ops that are now in their place, in order.

    A mask in front is computed for the maximum and for the exponentials alike: that is less than a pass.
    """
    sums, scaling = found.product.results[0], next(iter(found.scaling), None)
    with at(found.product):
        start, largest = _running_maximum(found, scaling)
        update = _update(found, start, largest.results[0], scaling)
        maximum, factor, scaled = update.results
        weights = _exponentials(found, maximum)
        total = _total(found, weights, scaled)
        corrected = _corrected(found, factor)
        product = _product(found, weights, corrected)
        by_row = _rows_of_product(found)
        divided = _divided if found.empty is None else _divided_unless_empty
        result = _elementwise([product, total], [_identity(product), by_row], element_type_of(sums), divided)
    sums.replace_all_uses_with(result)
    for each in (found.product, found.quotient, found.empty, found.total, found.exponentials, found.largest):
        if each is not None:
            each.erase()
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
    identity = _identity(rows)
    targets = [empty(shape_of(rows), kind) for kind in kinds]
    start = generic_op([], targets, [identity] * 3, ["parallel"] * identity.n_dims)
    block = start.regions[0].blocks.append(*kinds, arg_locs=[start.location] * 3)
    with ir.InsertionPoint(block):
        numbers = zip(kinds, (_LOWEST[str(kinds[0])], _LOWEST[str(kinds[1])], 0.0))
        linalg.YieldOp([arith.ConstantOp(kind, ir.FloatAttr.get(kind, number)).result for kind, number in numbers])
    maps, loops = maps_of(found.largest), iterators(found.largest)
    largest = generic_op([source], [start.results[0]], maps, loops, _running())
    types = [element_type_of(source), kinds[0]]
    block = largest.regions[0].blocks.append(*types, arg_locs=[largest.location] * 2)
    with ir.InsertionPoint(block):
        score, so_far = block.arguments
        linalg.YieldOp([arith.MaximumFOp(_converted(score, kinds[0]), so_far).result])
    return start, largest


def _update(found: WeightedSum, start: ir.Operation, largest: ir.Value, scaling: ir.Operation | None) -> ir.Operation:
    """The maximum of scaled scores, by what the sums of pieces before have to be multiplied, their total times that."""
    _, before, total = start.results
    outputs = [before, _like(before), total]
    identity, kinds = _identity(before), [element_type_of(value) for value in (largest, *outputs)]
    op = generic_op([largest], outputs, [identity] * 4, ["parallel"] * identity.n_dims, _running())
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * 4)
    with ir.InsertionPoint(block):
        new, old, _, so_far = block.arguments
        if scaling is not None and never_falls(scaling):
            new = copied_body(scaling, [new])
        new = arith.MaximumFOp(old, _converted(new, old.type)).result
        factor = _power(found.exponential, old, new)
        linalg.YieldOp([new, factor, arith.MulFOp(so_far, _converted(factor, so_far.type)).result])
    return op


def _exponentials(found: WeightedSum, maximum: ir.Value) -> ir.Value:
    """What the quotients were made of, in their type: the product multiplies it as it is."""
    element, maps = element_type_of(found.quotient.results[0]), maps_of(found.exponentials)

    def weight(score: ir.Value, largest: ir.Value) -> ir.Value:
        return _converted(_power(found.exponential, _converted(score, largest.type), largest), element)

    return _elementwise([found.scores, maximum], maps[:2], element, weight, maps[2])


def _total(found: WeightedSum, weights: ir.Value, start: ir.Value) -> ir.Value:
    """The sum of what the product really multiplies."""
    element = element_type_of(start)
    op = generic_op([weights], [start], maps_of(found.total), iterators(found.total))
    kinds = [element_type_of(weights), element]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * 2)
    with ir.InsertionPoint(block):
        term = _converted(block.arguments[0], element)
        linalg.YieldOp([arith.AddFOp(block.arguments[1], term).result])
    return op.results[0]


def _corrected(found: WeightedSum, factor: ir.Value) -> ir.Value:
    """The running sum of products times what its maximum has changed by."""
    start = found.product.operands[input_count(found.product)]
    element, identity = element_type_of(start), _identity(start)
    op = generic_op([factor], [start], [_rows_of_product(found), identity], ["parallel"] * identity.n_dims, _running())
    kinds = [element_type_of(factor), element]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * 2)
    with ir.InsertionPoint(block):
        linalg.YieldOp([arith.MulFOp(block.arguments[1], _converted(block.arguments[0], element)).result])
    return op.results[0]


def _product(found: WeightedSum, weights: ir.Value, start: ir.Value) -> ir.Value:
    product = found.product.clone().operation
    product.operands[found.weight] = weights
    product.operands[input_count(product)] = start
    return product.results[0]


def _rows_of_product(found: WeightedSum) -> ir.AffineMap:
    """Where the sums' rows stand in the product's result."""
    maps, (whole, rows) = maps_of(found.product), maps_of(found.largest)
    read, written = list(maps[found.weight].results), list(maps[-1].results)
    dims = [written.index(read[list(whole.results).index(row)]) for row in rows.results]
    return ir.AffineMap.get(len(written), 0, [ir.AffineExpr.get_dim(dim) for dim in dims])


def _elementwise(
    inputs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    element: ir.Type,
    compute: Callable[..., ir.Value],
    written: ir.AffineMap | None = None,
) -> ir.Value:
    """A function of the elements of inputs, the first of which has the result's shape."""
    target = empty(shape_of(inputs[0]), element)
    op = generic_op(inputs, [target], [*maps, written or maps[0]], ["parallel"] * maps[0].n_dims)
    kinds = [*(element_type_of(value) for value in inputs), element]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * len(kinds))
    with ir.InsertionPoint(block):
        linalg.YieldOp([compute(*list(block.arguments)[:-1])])
    return op.results[0]


def _divided(sum_: ir.Value, total: ir.Value) -> ir.Value:
    return arith.DivFOp(sum_, _converted(total, sum_.type)).result


def _divided_unless_empty(sum_: ir.Value, total: ir.Value) -> ir.Value:
    """0 for a row without weights: one whose scores are all -inf, since the largest of others weighs 1."""
    zero = arith.ConstantOp(total.type, ir.FloatAttr.get(total.type, 0.0)).result
    nothing = arith.ConstantOp(sum_.type, ir.FloatAttr.get(sum_.type, 0.0)).result
    is_empty = arith.CmpFOp(arith.CmpFPredicate.OEQ, total, zero).result
    return arith.SelectOp(is_empty, nothing, _divided(sum_, total)).result


def _power(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    exponent = arith.SubFOp(left, right).result
    return (math.Exp2Op if name == "math.exp2" else math.ExpOp)(exponent).result


def _converted(value: ir.Value, element: ir.Type) -> ir.Value:
    """A float as one of another type."""
    if value.type == element:
        return value
    return (arith.TruncFOp if value.type.width > element.width else arith.ExtFOp)(element, value).result


def _identity(value: ir.Value) -> ir.AffineMap:
    return ir.AffineMap.get_identity(len(shape_of(value)))


def _like(value: ir.Value) -> ir.Value:
    return empty(shape_of(value), element_type_of(value))


def _running() -> Mapping[str, ir.Attribute]:
    return {RUNNING: ir.UnitAttr.get()}
