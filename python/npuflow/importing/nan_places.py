"""Where what is no number stands in an order: PyTorch's is greater than all numbers, and is found as the extreme."""

from __future__ import annotations

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import producer

_P = arith.CmpFPredicate
_DESCENDING = (_P.OGT, _P.OGE, _P.UGT, _P.UGE)
_STRICT = {_P.OGT: _P.UGT, _P.OLT: _P.ULT}
_EXTREMES = {"arith.maximumf": _P.OGT, "arith.minimumf": _P.OLT}


def place_nans(module: ir.Module) -> None:
    """Has sorts, and places of what is greatest or smallest, heed what is no number. Edits the module.

    torch-mlir compares in the order of numbers, in which such is before and behind none, so that sorts lose elements
    beside it, and extremes are found where they aren't:

        %c = arith.cmpf ole, %a, %b : f32

    becomes in a sort

        %d = arith.cmpf ole, %a, %b : f32
        %n = arith.cmpf uno, %b, %b : f32
        %c = arith.ori %d, %n : i1
    """
    for sort in ops_of(module.operation, "tm_tensor.sort"):
        _order(sort)
    for generic in ops_of(module.operation, "linalg.generic"):
        _find_extreme(generic)
        _find_in_window(generic)


def _order(sort: ir.Operation) -> None:
    """The body's comparison of two elements, with what is no number behind all, or before them where these fall."""
    block = sort.regions[0].blocks[0]
    compared = producer([*block.operations][-1].operation.operands[0], "arith.cmpf")
    if compared is None or [*compared.operands] != [*block.arguments][:2]:
        return
    last = compared.operands[0 if _predicate(compared) in _DESCENDING else 1]
    with at(compared, after=True):
        is_nan = arith.CmpFOp(_P.UNO, last, last).result
        either = arith.OrIOp(compared.results[0], is_nan)
    compared.results[0].replace_all_uses_except(either.result, either.operation)


def _find_extreme(generic: ir.Operation) -> None:
    """Where an extreme is, that which isn't a number included: the first one of these, if there are any."""
    for chosen in ops_of(generic, "arith.select"):
        compared = producer(chosen.operands[0], "arith.cmpf")
        if compared is None or (strict := _STRICT.get(_predicate(compared))) is None:
            continue
        new, sofar = compared.operands
        extremes = (
            one for name, said in _EXTREMES.items() if said == _predicate(compared) for one in ops_of(generic, name)
        )
        if not any({*one.operands} == {new, sofar} for one in extremes) or sofar not in [
            *generic.regions[0].blocks[0].arguments
        ]:
            continue
        with at(compared):
            passes = arith.CmpFOp(strict, new, sofar).result
            is_number = arith.CmpFOp(_P.ORD, sofar, sofar).result
            found = arith.AndIOp(passes, is_number).result
        compared.results[0].replace_all_uses_with(found)
        compared.erase()


def _find_in_window(generic: ir.Operation) -> None:
    """A pool's place: the last element that is no number, else the first that is the same as the window's greatest."""
    last = [*generic.regions[0].blocks[0].operations][-1].operation
    kept = producer(last.operands[0], "arith.select")
    chosen = None if kept is None else producer(kept.operands[1], "arith.select")
    compared = None if chosen is None else producer(chosen.operands[0], "arith.cmpf")
    if kept is None or chosen is None or compared is None or _predicate(compared) != _P.OEQ:
        return
    element, place = compared.operands[0], chosen.operands[1]
    if producer(element, "tensor.extract") is None:
        return
    with at(last):
        is_nan = arith.CmpFOp(_P.UNO, element, element).result
        last.operands[0] = arith.SelectOp(is_nan, place, kept.results[0]).result


def _predicate(compared: ir.Operation) -> arith.CmpFPredicate:
    return _P(int(ir.IntegerAttr(compared.attributes["predicate"]).value))
