"""Ops on 16-bit floats for which LLVM calls functions that this process lacks: f64 to f16 or bf16, fma on either.

    %y = arith.truncf %x : f64 to bf16

becomes a conversion to f32 and one from there. Rounding twice could be wrong by a unit in the last place; not so if the
first is to odd: of the two f32 neighbours of a number that is no f32, the one whose last bit is 1.
"""

from __future__ import annotations

from npuflow.bindings import arith, ir, math
from npuflow.core.build import at
from npuflow.core.passes import ops_of

_NARROW = (ir.F16Type, ir.BF16Type)


def expand_narrow_floats(root: ir.Operation) -> None:
    """Rewrites scalar ops below `root`."""
    for op in ops_of(root, "arith.truncf"):
        if isinstance(op.operands[0].type, ir.F64Type) and isinstance(op.results[0].type, _NARROW):
            with at(op):
                op.operands[0] = _rounded_to_odd(op.operands[0])
    for op in ops_of(root, "math.fma"):
        if isinstance(op.results[0].type, _NARROW):
            with at(op):
                wide = [arith.ExtFOp(ir.F32Type.get(), value).result for value in op.operands]
                narrow = arith.TruncFOp(op.results[0].type, math.FmaOp(*wide).result).result
            op.results[0].replace_all_uses_with(narrow)
            op.erase()


def _rounded_to_odd(value: ir.Value) -> ir.Value:
    """The f32 for an f64 that keeps, in its last bit, whether anything was lost."""
    integer = ir.IntegerType.get_signless(32)
    one, zero, minus_one = (arith.ConstantOp(integer, n).result for n in (1, 0, -1))
    nearest = arith.TruncFOp(ir.F32Type.get(), value).result
    back = arith.ExtFOp(value.type, nearest).result
    bits = arith.BitcastOp(integer, nearest).result
    is_even = arith.CmpIOp(arith.CmpIPredicate.eq, arith.AndIOp(bits, one).result, zero).result
    is_lossy = arith.CmpFOp(arith.CmpFPredicate.ONE, back, value).result
    is_below = arith.CmpFOp(arith.CmpFPredicate.OLT, math.AbsFOp(back).result, math.AbsFOp(value).result).result
    step = arith.SelectOp(is_below, one, minus_one).result
    moved = arith.SelectOp(arith.AndIOp(is_even, is_lossy).result, step, zero).result
    return arith.BitcastOp(ir.F32Type.get(), arith.AddIOp(bits, moved).result).result
