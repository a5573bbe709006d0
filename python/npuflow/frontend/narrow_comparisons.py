"""npuflow-narrow-comparisons: extended numbers are compared with constants as what they were."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import producer


@register_pass
@dataclass(frozen=True)
class NarrowComparisons(Pass):
    """Compares a float that was extended with a constant as what it was, where its type has that constant.

    Extending is exact, so that the answer is the same. A vector takes as many more numbers as they are narrower.

        ^bb0(%a: bf16, %out: i1):
          %w = arith.extf %a : bf16 to f64
          %c = arith.cmpf oeq, %w, %infinite : f64

    becomes

        ^bb0(%a: bf16, %out: i1):
          %c = arith.cmpf oeq, %a, %infinite : bf16
    """

    name = "npuflow-narrow-comparisons"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        generics = ops_of(op, "linalg.generic")
        found = [inner for generic in generics for inner in ops_of(generic, "arith.cmpf") if _narrow(inner)]
        context.count("comparisons narrowed", len(found))
        if found:
            run_upstream(op, "canonicalize,cse")


def _narrow(compared: ir.Operation) -> bool:
    """Lets a comparison read the narrowest number that has been extended to what it reads; whether there is one."""
    wide, number = compared.operands
    narrow, constant = _unextended(wide), producer(number, "arith.constant")
    if narrow == wide or constant is None:
        return False
    value = ir.FloatAttr(constant.attributes["value"]).value
    same = ir.FloatAttr.get(narrow.type, value, loc=compared.location)
    if same.value != value:
        return False
    with ir.InsertionPoint(compared), compared.location:
        compared.operands[1] = arith.ConstantOp(narrow.type, same).result
    compared.operands[0] = narrow
    return True


def _unextended(value: ir.Value) -> ir.Value:
    while (extension := producer(value, "arith.extf")) is not None:
        value = extension.operands[0]
    return value
