"""A softmax in front of a sum of products, made in parts of its rows that cores can share, and their merge. Edits IR.

Where there are few rows, as of one token, keys and values come in parts, each of which has a softmax and a sum of its
own; the result is the mean of the parts' sums, weighted by the totals of their exponentials. That is the same function
of real numbers, in whatever order parts are merged; roundings differ.

    s = f(q k), r = softmax(s) v        over all of n

becomes, for each p of some parts of n,

    s = f(q k), r = softmax(s) v, e = max(s) + log(sum(exp(s - max(s))))        over what p has of n

and then

    w = exp(e - max(e)), r = sum(w r) / sum(w)        over p
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import arith, ir, linalg, math
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, in_parts_along, shape_of
from npuflow.core.copies import erase_unused
from npuflow.fusion.weighted_sums import LOWEST, converted, elementwise, identity_of
from npuflow.ops.bundle import make_bundle
from npuflow.ops.contraction import producer
from npuflow.ops.linear import composed, input_count, iterators, maps_of
from npuflow.ops.softmax import match_weighted_sum


def in_parts(ops: Sequence[ir.Operation], product: ir.Operation, parts: int) -> list[ir.Operation] | None:
    """Copies of a softmax's ops up to the product behind it, with a loop over parts; None where that can't be made."""
    found = match_weighted_sum(product)
    if found is None:
        return None
    bundle, place = make_bundle(ops), list(ops).index(found.largest)
    summed = [loop for loop, kind in enumerate(iterators(found.largest)) if kind == "reduction"]
    if len(summed) != 1:
        return None
    loop = bundle.loops[place][summed[0]]
    writer = _PartsWriter(
        {index: list(own).index(loop) for index, own in enumerate(bundle.loops) if loop in own}, parts
    )
    with at(product):
        made = [writer.write(index, op) for index, op in enumerate(ops)]
    whole = [op for op in made if op is not None]
    if len(whole) == len(made):
        return whole
    erase_unused([op for op in whole if op not in ops])
    return None


@dataclass
class _PartsWriter:
    """Writes ops again, those with the loop that comes in `parts`, and those that read what such ops make."""

    loops: Mapping[int, int]
    parts: int
    values: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def write(self, index: int, op: ir.Operation) -> ir.Operation | None:
        """The op with a loop over parts in front of all others; None where it can't be made."""
        loop = self.loops.get(index)
        inputs, count = input_count(op), len(iterators(op))
        if loop is None and not any(value in self.values for value in op.operands):
            return op
        others = ir.AffineMap.get(count + 1, 0, [ir.AffineExpr.get_dim(own + 1) for own in range(count)])
        operands, maps = [], []
        for number, (value, map_) in enumerate(zip(op.operands, maps_of(op))):
            dims = [*composed(map_, others).results]
            along = [d for d, dim in enumerate(dims) if loop is not None and dim == ir.AffineExpr.get_dim(loop + 1)]
            read = self._read(value, along, is_output=number >= inputs)
            if read is None:
                return None
            if along:
                dims.insert(along[0], ir.AffineExpr.get_dim(0))
            elif value in self.values or number >= inputs:
                dims.insert(0, ir.AffineExpr.get_dim(0))
            operands.append(read)
            maps.append(ir.AffineMap.get(count + 1, 0, dims))
        made = generic_op(operands[:inputs], operands[inputs:], maps, ["parallel", *iterators(op)])
        copy = op.clone().operation
        copy.regions[0].blocks[0].append_to(made.regions[0])
        copy.erase()
        self.values.update(zip(op.results, made.results))
        return made

    def _read(self, value: ir.Value, along: Sequence[int], *, is_output: bool) -> ir.Value | None:
        """What an op reads, or writes over, in parts; None where that isn't there."""
        if value in self.values or not isinstance(value.type, ir.ShapedType):
            return self.values.get(value, value)
        shape = shape_of(value)
        if len(along) > 1 or (along and (shape[along[0]] % self.parts or producer(value, "tensor.pad") is not None)):
            return None
        if not along and not is_output:
            return value
        place = along[0] if along else 0
        size = [shape[place] // self.parts] if along else []
        wide = [*shape[:place], self.parts, *size, *shape[place + len(along) :]]
        filled, kind = producer(value, "linalg.fill"), element_type_of(value)
        if filled is not None:
            return fill(filled.operands[0], empty(wide, kind))
        if producer(value, "tensor.empty") is not None:
            return empty(wide, kind)
        if is_output:
            return None
        return in_parts_along(value, place, self.parts)


def with_weight(divided: ir.Operation, maximum: ir.Value, total: ir.Value) -> ir.Operation:
    """An op that makes the quotients of parts, and beside each the logarithm of what its part weighs.

    In an op of its own, which makes each row's logarithm once, it takes a kernel more, and steps that take longer.
    """
    quotient, kind = divided.results[0], element_type_of(total)
    shape, whole, rows = shape_of(quotient), identity_of(quotient), maps_of(divided)[1]
    targets = [empty(shape, element_type_of(quotient)), empty(shape, kind)]
    maps = [whole, rows, rows, whole, whole]
    op = generic_op([quotient, maximum, total], targets, maps, ["parallel"] * whole.n_dims)
    kinds = [element_type_of(value) for value in (quotient, maximum, total, *targets)]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * len(kinds))
    with ir.InsertionPoint(block):
        result, largest, weight = list(block.arguments)[:3]
        logarithm = arith.AddFOp(converted(largest, kind), math.LogOp(weight).result).result
        lowest = arith.ConstantOp(kind, ir.FloatAttr.get(kind, LOWEST[str(kind)])).result
        linalg.YieldOp([result, arith.MaximumFOp(logarithm, lowest).result])
    return op


def merged(results: ir.Value, weights: ir.Value) -> list[ir.Operation]:
    """The ops that make the mean of parts, which are the first dimension, by the logarithms of their weights.

    What weighs nothing adds nothing, whatever it is: all of a part may be masked.
    """
    kind = element_type_of(weights)
    lowest = arith.ConstantOp(kind, ir.FloatAttr.get(kind, LOWEST[str(kind)])).result
    nothing = arith.ConstantOp(kind, ir.FloatAttr.get(kind, 0.0)).result
    whole = identity_of(weights)
    rest = ir.AffineMap.get(whole.n_dims, 0, list(whole.results)[1:])
    largest = _folded([weights], lowest, lambda value, so_far: arith.MaximumFOp(so_far, value).result)

    def power(weight: ir.Value, most: ir.Value) -> ir.Value:
        return math.ExpOp(arith.SubFOp(weight, most).result).result

    shares = elementwise([weights, largest], [whole, rest], kind, power)
    total = _folded([shares], nothing, lambda share, so_far: arith.AddFOp(so_far, share).result)

    def add(result: ir.Value, share: ir.Value, so_far: ir.Value) -> ir.Value:
        total = arith.AddFOp(so_far, arith.MulFOp(converted(result, kind), share).result).result
        is_nothing = arith.CmpFOp(arith.CmpFPredicate.OEQ, share, nothing).result
        return arith.SelectOp(is_nothing, so_far, total).result

    sums = _folded([results, shares], nothing, add)
    mean = elementwise(
        [sums, total],
        [identity_of(sums)] * 2,
        element_type_of(results),
        lambda sum_, weight: converted(arith.DivFOp(sum_, weight).result, element_type_of(results)),
    )
    return [value.owner.operation for value in (largest, shares, total, sums, mean)]


def _folded(inputs: Sequence[ir.Value], start: ir.Value, fold: Callable[..., ir.Value]) -> ir.Value:
    """What a fold along the first dimension makes of inputs of one shape."""
    whole = identity_of(inputs[0])
    target = fill(start, empty(shape_of(inputs[0])[1:], start.type))
    maps = [*[whole] * len(inputs), ir.AffineMap.get(whole.n_dims, 0, list(whole.results)[1:])]
    op = generic_op(inputs, [target], maps, ["reduction", *["parallel"] * (whole.n_dims - 1)])
    kinds = [*(element_type_of(value) for value in inputs), start.type]
    block = op.regions[0].blocks.append(*kinds, arg_locs=[op.location] * len(kinds))
    with ir.InsertionPoint(block):
        linalg.YieldOp([fold(*block.arguments)])
    return op.results[0]
