"""A softmax in front of a sum of products, made to run piece by piece. Edits IR.

The division moves behind the sum, which is linear, and each piece corrects what is there by how much the maximum has
grown. That is the same function of real numbers; roundings differ.

    m = max(s), p = exp(s - m), l = sum(p), q = p / l, r = sum(q v)

becomes, with m and b the lowest number, l = 0 and o = 0 in front of the first piece,

    m = max(m, max(s))                     running
    a, l, b = exp(b - m), l a, m           running
    p = exp(s - m)
    l = l + sum(p)
    o = o a                                running
    o = o + sum(p v)

and r = o / l behind the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npuflow.bindings import arith, ir, linalg, math
from npuflow.core.build import at, element_type_of, empty, generic_op, shape_of
from npuflow.ops.contraction import RUNNING
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.softmax import WeightedSum
from npuflow.strategy.inline_producer import inline_producer

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
    rows, sums, scaling = found.largest.results[0], found.product.results[0], found.scaling
    with at(found.largest):
        start = _start(rows)
        found.largest.operands[1] = start.results[0]
        found.largest.attributes[RUNNING] = ir.UnitAttr.get()
    with at(found.product):
        factor, scaled = _update(found, rows, start)
        weights = _exponentials(found, rows)
        total = _total(found, weights, scaled)
        corrected = _corrected(found, factor)
        product = _product(found, weights, corrected)
        by_row = _rows_of_product(found)
        result = _elementwise([product, total], [_identity(product), by_row], element_type_of(sums), _divided)
    sums.replace_all_uses_with(result)
    for op in (found.product, found.quotient, found.total, found.exponentials):
        op.erase()
    largest, exponentials = found.largest, weights.owner.operation
    for source in scaling:
        largest, exponentials = inline_producer(source, largest), inline_producer(source, exponentials)
        source.erase()
    rest = (value.owner.operation for value in (total, corrected, product, result))
    return [start, largest, factor.owner.operation, exponentials, *rest]


def _start(rows: ir.Value) -> ir.Operation:
    """The maximum, the maximum before and the total that the first piece goes on from.

    Numbers, so that differences of maxima are numbers where all scores of a piece are -inf.
    """
    element, identity = element_type_of(rows), _identity(rows)
    targets = [_like(rows) for _ in range(3)]
    op = generic_op([], targets, [identity] * 3, ["parallel"] * identity.n_dims)
    block = op.regions[0].blocks.append(*[element] * 3, arg_locs=[op.location] * 3)
    with ir.InsertionPoint(block):
        lowest, zero = (
            arith.ConstantOp(element, ir.FloatAttr.get(element, number)).result
            for number in (_LOWEST[str(element)], 0.0)
        )
        linalg.YieldOp([lowest, lowest, zero])
    return op


def _update(found: WeightedSum, maximum: ir.Value, start: ir.Operation) -> tuple[ir.Value, ir.Value]:
    """By what the sums of pieces before have to be multiplied for a new maximum, and their total times that."""
    element, identity = element_type_of(maximum), _identity(maximum)
    _, before, total = start.results
    outputs = [before, _like(maximum), total]
    op = generic_op([maximum], outputs, [identity] * 4, ["parallel"] * identity.n_dims, _running())
    block = op.regions[0].blocks.append(*[element] * 4, arg_locs=[op.location] * 4)
    with ir.InsertionPoint(block):
        new, old, _, so_far = block.arguments
        factor = _power(found.exponential, arith.SubFOp(old, new).result)
        linalg.YieldOp([new, factor, arith.MulFOp(so_far, factor).result])
    _, factors, scaled = op.results
    return factors, scaled


def _exponentials(found: WeightedSum, maximum: ir.Value) -> ir.Value:
    """What the quotients were made of, in their type: the product multiplies it as it is."""
    element, maps = element_type_of(found.quotient.results[0]), maps_of(found.exponentials)

    def power(score: ir.Value, largest: ir.Value) -> ir.Value:
        return _converted(_power(found.exponential, arith.SubFOp(score, largest).result), element)

    return _elementwise([found.scores, maximum], maps[:2], element, power, maps[2])


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


def _power(name: str, exponent: ir.Value) -> ir.Value:
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
