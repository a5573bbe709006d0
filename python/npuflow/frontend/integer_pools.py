"""The greatest elements of windows, of integers as of what was rounded to them: rounding keeps the order. Builds IR."""

from __future__ import annotations

from math import inf

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, padded_by, shape_of
from npuflow.frontend.product_layers import padding_of
from npuflow.ops.contraction import is_parallel, only_user, producer
from npuflow.ops.linear import folds_by, input_count, iterators, maps_of

# Below all that tensors of i8 have, and all that floats of 32 bits have.
_LEAST = -128
_LOWEST = -3.4e38


def pooled_from(op: ir.Operation) -> ir.Value | None:
    """What an op takes the greatest elements of, before it was padded, if that is all that it does."""
    if op.name != "linalg.generic" or is_parallel(op) or not folds_by(op, "arith.maximumf"):
        return None
    begun = producer(op.operands[-1], "linalg.fill")
    if begun is None or not _is_lowest(_constant(begun.operands[0])):
        return None
    pad = producer(op.operands[0], "tensor.pad")
    if pad is None:
        return op.operands[0]
    is_alone = only_user(op.operands[0]) is not None and _is_lowest(padding_of(pad))
    return pad.operands[0] if is_alone else None


def pooled(op: ir.Operation, source: ir.Value) -> ir.Value:
    """The same of a tensor of i8 in place of what the op takes them from."""
    kind, pad = element_type_of(source), producer(op.operands[0], "tensor.pad")
    with at(op):
        least = arith.ConstantOp(kind, ir.IntegerAttr.get(kind, _LEAST)).result
        if pad is not None:
            source = padded_by(source, list(pad.opview.static_low), list(pad.opview.static_high), least)
        others = [empty(shape_of(value), kind) for value in list(op.operands)[1 : input_count(op)]]
        begun = fill(least, empty(shape_of(op.results[0]), kind))
        made = generic_op([source, *others], [begun], maps_of(op), iterators(op))
        block = made.regions[0].blocks.append(*[kind] * (len(others) + 2))
        with ir.InsertionPoint(block):
            linalg.YieldOp([arith.MaxSIOp(block.arguments[len(others) + 1], block.arguments[0]).result])
    return made.results[0]


def _constant(value: ir.Value) -> float | None:
    constant = producer(value, "arith.constant")
    number = None if constant is None else constant.attributes["value"]
    return float(number.value) if isinstance(number, ir.FloatAttr) else None


def _is_lowest(number: float | None) -> bool:
    return number is not None and -inf <= number <= _LOWEST
