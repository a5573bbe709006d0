"""Arithmetic of bools as PyTorch has it: they are 0 and 1, and a sum of them says whether any is 1."""

from __future__ import annotations

from npuflow.bindings import arith, ir
from npuflow.core.build import at, element_type_of
from npuflow.core.passes import ops_of

_P = arith.CmpIPredicate
_WITHOUT_SIGNS = {_P.slt: _P.ult, _P.sle: _P.ule, _P.sgt: _P.ugt, _P.sge: _P.uge}
_INSTEAD = {"arith.addi": "arith.ori", "arith.maxsi": "arith.ori", "arith.minsi": "arith.andi"}


def read_bools(module: ir.Module) -> None:
    """Takes the sign from comparisons of i1, in which 1 is -1, and has sums of it not wrap around. Edits the module.

    torch-mlir sorts, clamps and scatters bools as it does numbers, so that True comes before False, and is False twice:

        %c = arith.cmpi sle, %a, %b : i1
        %s = arith.addi %a, %b : i1

    becomes

        %c = arith.cmpi ule, %a, %b : i1
        %s = arith.ori %a, %b : i1
    """
    for compared in ops_of(module.operation, "arith.cmpi"):
        said = _P(int(ir.IntegerAttr(compared.attributes["predicate"]).value))
        if said in _WITHOUT_SIGNS and _is_bool(compared.operands[0]):
            kind = ir.IntegerType.get_signless(64, module.context)
            compared.attributes["predicate"] = ir.IntegerAttr.get(kind, int(_WITHOUT_SIGNS[said]))
    for name, instead in _INSTEAD.items():
        for op in ops_of(module.operation, name):
            if _is_bool(op.results[0]):
                with at(op):
                    made = ir.Operation.create(instead, [op.results[0].type], [*op.operands])
                op.results[0].replace_all_uses_with(made.results[0])
                op.erase()


def _is_bool(value: ir.Value) -> bool:
    kind = element_type_of(value)
    return isinstance(kind, ir.IntegerType) and bool(kind.width == 1)
