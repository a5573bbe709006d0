"""Shifts by any number of bits, as PyTorch has them: `arith` leaves those that aren't fewer than a number has open."""

from __future__ import annotations

from npuflow.bindings import arith, ir
from npuflow.core.build import at, element_type_of
from npuflow.core.passes import ops_of

_P = arith.CmpIPredicate


def bound_shifts(module: ir.Module) -> None:
    """Has shifts by fewer bits than none, or by as many as a number has, leave nothing but its sign. Edits the module.

        %r = arith.shrsi %a, %by : i32

    becomes

        %n = arith.minui %by, %c31 : i32
        %r = arith.shrsi %a, %n : i32

    and to the left, where no sign is left, zero is selected as well.
    """
    for name in ("arith.shli", "arith.shrsi"):
        for shift in ops_of(module.operation, name):
            _bound(shift)


def _bound(shift: ir.Operation) -> None:
    kind = element_type_of(shift.results[0])
    by = shift.operands[1]
    with at(shift):
        most = arith.ConstantOp(kind, ir.IntegerAttr.get(kind, kind.width - 1)).result
        shift.operands[1] = arith.MinUIOp(by, most).result
    if shift.name == "arith.shrsi":
        return
    with at(shift, after=True):
        none = arith.ConstantOp(kind, ir.IntegerAttr.get(kind, 0)).result
        is_within = arith.CmpIOp(_P.ule, by, most).result
        bounded = arith.SelectOp(is_within, shift.results[0], none)
    shift.results[0].replace_all_uses_except(bounded.result, bounded.operation)
