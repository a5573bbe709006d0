"""Arithmetic on 64-bit floats at the insertion point."""

from __future__ import annotations

from npuflow.bindings import arith, ir, math


def number(value: float) -> ir.Value:
    kind = ir.F64Type.get()
    return arith.ConstantOp(kind, ir.FloatAttr.get(kind, value)).result


def add(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.AddFOp(left, right).result


def sub(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.SubFOp(left, right).result


def mul(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.MulFOp(left, right).result


def maximum(left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.MaximumFOp(left, right).result


def magnitude(value: ir.Value) -> ir.Value:
    return math.AbsFOp(value).result


def square_root(value: ir.Value) -> ir.Value:
    return math.SqrtOp(value).result


def compare(predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.CmpFOp(getattr(arith.CmpFPredicate, predicate), left, right).result


def where_any(error: ir.Value, other: ir.Value) -> ir.Value:
    """`other` wherever there is an error at all."""
    return arith.SelectOp(compare("OEQ", error, number(0.0)), error, other).result


def as_float(value: ir.Value) -> ir.Value:
    """Any number in 64 bits; truth values as 0 and 1."""
    kind, wide = value.type, ir.F64Type.get()
    if isinstance(kind, ir.FloatType):
        return value
    if isinstance(kind, ir.IndexType):
        value = arith.IndexCastOp(ir.IntegerType.get_signless(64), value).result
    if isinstance(kind, ir.IntegerType) and kind.width == 1:
        return arith.UIToFPOp(wide, value).result
    return arith.SIToFPOp(wide, value).result
