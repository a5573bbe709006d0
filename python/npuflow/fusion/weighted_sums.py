"""What sums of weights are made of, with the division behind them: parts of a softmax. Edits IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npuflow.bindings import arith, ir, linalg, math
from npuflow.core.build import element_type_of, empty, generic_op, shape_of
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.softmax import WeightedSum

LOWEST = {
    "f16": -65504.0,
    "bf16": -3.3895313892515355e38,
    "f32": -3.4028234663852886e38,
    "f64": -1.7976931348623157e308,
}


def weights_of(found: WeightedSum, maximum: ir.Value) -> ir.Value:
    """What the quotients were made of, in their type: the product multiplies it as it is."""
    element, maps = element_type_of(found.quotient.results[0]), maps_of(found.exponentials)

    def weight(score: ir.Value, largest: ir.Value) -> ir.Value:
        return converted(power(found.exponential, converted(score, largest.type), largest), element)

    return elementwise([found.scores, maximum], maps[:2], element, weight, maps[2])


def total_of(found: WeightedSum, weights: ir.Value, start: ir.Value) -> ir.Value:
    """The sum of what the product really multiplies."""
    element = element_type_of(start)
    op = generic_op([weights], [start], maps_of(found.total), iterators(found.total))
    kinds = [element_type_of(weights), element]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * 2)
    with ir.InsertionPoint(block):
        term = converted(block.arguments[0], element)
        linalg.YieldOp([arith.AddFOp(block.arguments[1], term).result])
    return op.results[0]


def product_of_weights(found: WeightedSum, weights: ir.Value, start: ir.Value) -> ir.Value:
    product = found.product.clone().operation
    product.operands[found.weight] = weights
    product.operands[input_count(product)] = start
    return product.results[0]


def rows_of_product(found: WeightedSum) -> ir.AffineMap:
    """Where the sums' rows stand in the product's result."""
    maps, (whole, rows) = maps_of(found.product), maps_of(found.largest)
    read, written = list(maps[found.weight].results), list(maps[-1].results)
    dims = [written.index(read[list(whole.results).index(row)]) for row in rows.results]
    return ir.AffineMap.get(len(written), 0, [ir.AffineExpr.get_dim(dim) for dim in dims])


def quotient_of(found: WeightedSum, product: ir.Value, total: ir.Value) -> ir.Value:
    """Sums of products divided by the total of their weights; 0 where rows without any are made that."""
    return _by_rows(found, product, total, _divided if found.empty is None else _divided_unless_empty)


def scaled_by_rows(found: WeightedSum, product: ir.Value, factor: ir.Value) -> ir.Value:
    """Sums of products times a number for each row."""
    return _by_rows(
        found, product, factor, lambda sum_, number: arith.MulFOp(sum_, converted(number, sum_.type)).result
    )


def _by_rows(found: WeightedSum, product: ir.Value, row: ir.Value, compute: Callable[..., ir.Value]) -> ir.Value:
    """A function of sums of products and of a number for each row, which may have further dimensions of one element."""
    rows = rows_of_product(found)
    single = [ir.AffineExpr.get_constant(0)] * (len(shape_of(row)) - len(rows.results))
    maps = [identity_of(product), ir.AffineMap.get(rows.n_dims, 0, [*rows.results, *single])]
    return elementwise([product, row], maps, element_type_of(product), compute)


def erase_softmax(found: WeightedSum) -> None:
    """Erases a softmax and the sum behind it, which nobody reads any more."""
    for each in (found.product, found.quotient, found.empty, found.total, found.exponentials, found.largest):
        if each is not None:
            each.erase()


def _times(sum_: ir.Value, number: ir.Value) -> ir.Value:
    return arith.MulFOp(sum_, converted(number, sum_.type)).result


def _divided(sum_: ir.Value, total: ir.Value) -> ir.Value:
    return arith.DivFOp(sum_, converted(total, sum_.type)).result


def _divided_unless_empty(sum_: ir.Value, total: ir.Value) -> ir.Value:
    """0 for a row without weights: one whose scores are all -inf, since the largest of others weighs 1."""
    zero = arith.ConstantOp(total.type, ir.FloatAttr.get(total.type, 0.0)).result
    nothing = arith.ConstantOp(sum_.type, ir.FloatAttr.get(sum_.type, 0.0)).result
    is_empty = arith.CmpFOp(arith.CmpFPredicate.OEQ, total, zero).result
    return arith.SelectOp(is_empty, nothing, _divided(sum_, total)).result


def elementwise(
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


def power(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    exponent = arith.SubFOp(left, right).result
    return (math.Exp2Op if name == "math.exp2" else math.ExpOp)(exponent).result


def converted(value: ir.Value, element: ir.Type) -> ir.Value:
    """A float as one of another type."""
    if value.type == element:
        return value
    return (arith.TruncFOp if value.type.width > element.width else arith.ExtFOp)(element, value).result


def identity_of(value: ir.Value) -> ir.AffineMap:
    return ir.AffineMap.get_identity(len(shape_of(value)))
