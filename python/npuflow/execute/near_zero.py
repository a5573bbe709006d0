"""exp(x) - 1 and log(1 + x) by libm's functions, which are made for x near 0.

    %y = math.expm1 %x : f32

becomes a call of `expm1f`. MLIR's lowering to LLVM writes an exp and a subtraction, in which the digits of x are lost.
"""

from __future__ import annotations

from npuflow.bindings import arith, func, ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of

_FUNCTIONS = {"math.expm1": "expm1", "math.log1p": "log1p"}


def call_near_zero(module: ir.Module) -> None:
    """Rewrites scalar ops of a module."""
    declared: set[str] = set()
    for op in ops_of(module.operation, *_FUNCTIONS):
        kind = op.results[0].type
        if not isinstance(kind, ir.FloatType):
            continue
        is_wide = isinstance(kind, ir.F64Type)
        computed = kind if is_wide else ir.F32Type.get(module.context)
        name = _FUNCTIONS[op.name] + ("" if is_wide else "f")
        if name not in declared:
            _declare(module, name, computed)
            declared.add(name)
        with at(op):
            value = op.operands[0] if computed == kind else arith.ExtFOp(computed, op.operands[0]).result
            called = func.CallOp([computed], name, [value]).results[0]
            result = called if computed == kind else arith.TruncFOp(kind, called).result
        op.results[0].replace_all_uses_with(result)
        op.erase()


def _declare(module: ir.Module, name: str, kind: ir.Type) -> None:
    with ir.InsertionPoint(module.body), module.operation.location:
        func.FuncOp(name, ([kind], [kind]), visibility="private")
