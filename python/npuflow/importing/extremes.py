"""The greater or smaller of two numbers as PyTorch has it: what is no number stays so."""

from __future__ import annotations

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of

_GREATER = tuple(int(getattr(arith.CmpFPredicate, name)) for name in ("OGT", "OGE", "UGT", "UGE"))
_SMALLER = tuple(int(getattr(arith.CmpFPredicate, name)) for name in ("OLT", "OLE", "ULT", "ULE"))


def keep_nans(module: ir.Module) -> None:
    """Makes `arith.maximumf` and `arith.minimumf` of a selection by a comparison of the same two numbers.

    torch-mlir writes `maximum`, `minimum` and `clamp` so, and of one that is no number takes the other, or the bound:

        %c = arith.cmpf ult, %in, %least : f32
        %r = arith.select %c, %least, %in : f32

    becomes

        %r = arith.maximumf %in, %least : f32

    A selection that a network writes itself is another op than its comparison, and stays.
    """
    for selection in ops_of(module.operation, "arith.select"):
        condition, *taken = selection.operands
        if isinstance(condition.owner, ir.Block) or condition.owner.name != "arith.cmpf":
            continue
        compared = condition.owner.operation
        swapped = taken == [*compared.operands][::-1]
        is_single = len([*condition.uses]) == 1 and compared.parent == selection.parent
        if not is_single or not (swapped or taken == [*compared.operands]):
            continue
        said = int(ir.IntegerAttr(compared.attributes["predicate"]).value)
        if said not in (*_GREATER, *_SMALLER):
            continue
        name = "arith.maximumf" if (said in _GREATER) != swapped else "arith.minimumf"
        with at(selection):
            made = ir.Operation.create(name, [selection.results[0].type], [*compared.operands])
        selection.results[0].replace_all_uses_with(made.results[0])
        selection.erase()
        compared.erase()
