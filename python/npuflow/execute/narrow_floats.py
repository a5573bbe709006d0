"""Ops on 16-bit floats for which LLVM calls functions that this process doesn't have: f64 to f16 or bf16, and fma.

    %y = arith.truncf %x : f64 to bf16

becomes a conversion to f32 and one from there. Rounding twice could be wrong by a unit in the last place; not so if the
first is to odd: of the two f32 neighbours of a number that is no f32, the one whose last bit is 1.

Even what only moves a bf16 is such an op where the processor has no registers for them: LLVM keeps it as f32 from one
block to another. What is lowered therefore has its bits, as an i16.
"""

from __future__ import annotations

import numpy as np

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


def hold_bf16_as_bits(module: ir.Module) -> None:
    """Makes every bf16 of an LLVM-dialect module, in which they are moved alone, an i16."""
    for op in ops_of(module.operation):
        if op.name == "llvm.mlir.constant" and isinstance(op.results[0].type, ir.BF16Type):
            (number,) = np.array([ir.FloatAttr(op.attributes["value"]).value], np.float32).view(np.int32)
            op.attributes["value"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(16), int(number) >> 16)
        if op.name == "llvm.func":
            op.attributes["function_type"] = ir.TypeAttr.get(
                _as_bits(ir.TypeAttr(op.attributes["function_type"]).value)
            )
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.arguments)
        for value in (*op.results, *arguments):
            kind = _as_bits(value.type)
            if kind != value.type:
                value.set_type(kind)


def _as_bits(kind: ir.Type) -> ir.Type:
    """The type, or an aggregate's or a function's, with i16 for bf16."""
    text = str(kind)
    return ir.Type.parse(text.replace("bf16", "i16")) if "bf16" in text else kind
