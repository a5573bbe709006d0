"""`npu.lacked` on a function: what earlier choices for its ops needed more of than there is, an entry for each.

    func.func @f(...) attributes {npu.lacked = [{level = 2 : i64, descriptors = array<i64: 34, 24>}]}

says that a memory of level 2 needed 34 descriptors and has 24; of bytes it is said likewise. Needs are estimated before
there is a schedule, so it takes one to know. What is chosen for such a function is chosen again, with less to count on
(`choose`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.errors import Shortage
from npuflow.ops.contraction import enclosing

LACKED = "npu.lacked"
_EXAMPLE = (
    "for example npu.lacked = [{level = 2 : i64, descriptors = array<i64: 34, 24>}]: level 2 needs 34 descriptors and"
    " has 24"
)
UNITS: tuple[Literal["descriptors"], Literal["bytes"]] = ("descriptors", "bytes")


def lacked_by(op: ir.Operation) -> tuple[Shortage, ...]:
    """What the function around an op says; raises InputError where it isn't that."""
    function = enclosing(op, "func.func")
    if function is None or LACKED not in function.attributes:
        return ()
    said = function.attributes[LACKED]
    entries = list(said) if isinstance(said, ir.ArrayAttr) else [said]
    return tuple(_shortage(function, entry) for entry in entries)


def _shortage(function: ir.Operation, entry: ir.Attribute) -> Shortage:
    said = {one.name: one.attr for one in entry} if isinstance(entry, ir.DictAttr) else {}
    level = said.get("level")
    for unit in UNITS:
        numbers = said.get(unit)
        if len(said) == 2 and isinstance(level, ir.IntegerAttr) and isinstance(numbers, ir.DenseI64ArrayAttr):
            match tuple(numbers):
                case need, have if 1 <= level.value <= 3 and 0 <= have < need:
                    return Shortage(level.value, need, have, unit=unit)
    raise fail(function, f"{LACKED} says {entry}", _EXAMPLE)


def note_lacked(function: ir.Operation, lacked: Sequence[Shortage]) -> None:
    """Has a function say so."""
    context = function.context
    function.attributes[LACKED] = ir.ArrayAttr.get([_entry(one, context) for one in lacked], context)


def _entry(shortage: Shortage, context: ir.Context) -> ir.Attribute:
    level = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context), shortage.level)
    numbers = ir.DenseI64ArrayAttr.get([shortage.need, shortage.have], context)
    return ir.DictAttr.get({"level": level, shortage.unit: numbers}, context)
