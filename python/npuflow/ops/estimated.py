"""How long groups are estimated to take, by themselves and as one; and which are to be one whatever that is.

What estimates are made for is decided by them, and what becomes of it takes another time. So that both can be held
against each other, a function says

    func.func @f(...) attributes {npu.estimated = [{groups = ["f_0", "f_1"], ns = [78000, 38000]}, ...]}

until it comes apart or has strategies: the first as one by itself, the second as a phase that finds set up what it
needs. It is compiled again, where others were faster, with

    func.func @f(...) attributes {npu.together = [["f_0", "f_1"]]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.ops.refused import REFUSED, entries_of, names_attribute, names_in

ESTIMATED, TOGETHER = "npu.estimated", "npu.together"
# Groups by their names (`network/groups.names_of`).
Names = frozenset[str]
# By themselves, and as a phase.
Estimates = tuple[float, float]


def note_estimated(function: ir.Operation, seconds: Mapping[Names, Estimates]) -> None:
    """Has a function say how long groups are estimated to take, beside what it says of others."""
    context = function.context
    kind = ir.IntegerType.get_signless(64, context)
    entries = []
    for groups, found in {**estimated_of(function), **seconds}.items():
        times = [ir.IntegerAttr.get(kind, round(each * 1e9)) for each in found]
        entries.append({"groups": names_attribute(sorted(groups), context), "ns": ir.ArrayAttr.get(times, context)})
    function.attributes[ESTIMATED] = ir.ArrayAttr.get([ir.DictAttr.get(one, context) for one in entries], context)


def estimated_of(function: ir.Operation) -> dict[Names, Estimates]:
    """How long groups are estimated to take, in seconds, as far as a function says.

    Raises InputError where it says anything else.
    """
    found = {}
    for entry in entries_of(function, ESTIMATED):
        said = {one.name: one.attr for one in entry} if isinstance(entry, ir.DictAttr) else {}
        groups, times = frozenset(names_in(said.get("groups"))), said.get("ns")
        numbers = (
            [each for each in times if isinstance(each, ir.IntegerAttr)] if isinstance(times, ir.ArrayAttr) else []
        )
        if not groups or len(numbers) != 2:
            raise fail(function, f"{ESTIMATED} says {entry}", "leave it out, passes say it anew")
        alone, phase = (each.value * 1e-9 for each in numbers)
        found[groups] = alone, phase
    return found


def forget_estimated(functions: Iterable[ir.Operation]) -> None:
    """Has functions say nothing of that any more."""
    for function in functions:
        if ESTIMATED in function.attributes:
            del function.attributes[ESTIMATED]


def note_together(function: ir.Operation, together: Iterable[Names]) -> None:
    """Has a function say which groups are to be one, if any are."""
    context = function.context
    found = [names_attribute(sorted(groups), context) for groups in together]
    if found:
        function.attributes[TOGETHER] = ir.ArrayAttr.get(found, context)


def say_alike(function: ir.Operation, other: ir.Operation) -> None:
    """Has a function say what another one says of groups that are to be one, or not to be."""
    for name in (REFUSED, TOGETHER):
        if name in other.attributes:
            function.attributes[name] = other.attributes[name]


def together_of(function: ir.Operation) -> list[Names]:
    """The groups that a function says are to be one; raises InputError where it says anything else."""
    found = []
    for entry in entries_of(function, TOGETHER):
        names = names_in(entry)
        if not names:
            raise fail(function, f"{TOGETHER} says {entry}", 'for example npu.together = [["f_0", "f_1"]]')
        found.append(frozenset(names))
    return found
