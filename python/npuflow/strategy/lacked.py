"""`npu.lacked` on a function: what earlier choices for its ops needed more of than there is, an entry for each.

    func.func @f(...) attributes {npu.lacked = [array<i64: 2, 34, 24>]}

says that a memory of level 2 needed 34 descriptors and has 24. Needs are estimated before there is a schedule, so it
takes one to know. What is chosen for such a function is chosen again, with fewer descriptors to count on (`choose`).
"""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.errors import Shortage
from npuflow.ops.contraction import enclosing

LACKED = "npu.lacked"
_EXAMPLE = "for example npu.lacked = [array<i64: 2, 34, 24>]: level 2 needs 34 descriptors and has 24"


def lacked_by(op: ir.Operation) -> tuple[Shortage, ...]:
    """What the function around an op says; raises InputError where it isn't that."""
    function = enclosing(op, "func.func")
    if function is None or LACKED not in function.attributes:
        return ()
    said = function.attributes[LACKED]
    entries = list(said) if isinstance(said, ir.ArrayAttr) else [said]
    return tuple(_shortage(function, entry) for entry in entries)


def _shortage(function: ir.Operation, entry: ir.Attribute) -> Shortage:
    numbers = tuple(entry) if isinstance(entry, ir.DenseI64ArrayAttr) else ()
    if len(numbers) != 3 or not (1 <= numbers[0] <= 3 and 0 <= numbers[2] < numbers[1]):
        raise fail(function, f"{LACKED} says {entry}", _EXAMPLE)
    return Shortage(*numbers)


def note_lacked(function: ir.Operation, lacked: Sequence[Shortage]) -> None:
    """Has a function say so."""
    context = function.context
    entries = [ir.DenseI64ArrayAttr.get([one.level, one.need, one.have], context) for one in lacked]
    function.attributes[LACKED] = ir.ArrayAttr.get(entries, context)
