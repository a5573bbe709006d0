"""What estimates made one, and what a schedule then refused of it: groups by their names, FUNCTION_NUMBER.

`npu.made_of = ["f_0", "f_1"]` on the ops of a bundle says which groups are one because that was estimated to be faster,
`npu.made_of = ["f_0"]` what a group is called that stayed apart. Whether it fits, and how long it takes, a schedule
tells. Where it doesn't fit, or is slower, the function has

    func.func @f(...) attributes {npu.refused = [{made_of = ["f_0", "f_1"], why = "the program of 'core' needs ..."}]}

when it is compiled again, and these groups don't become one. What somebody asked for doesn't say what it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import fail

MADE_OF, REFUSED = "npu.made_of", "npu.refused"
# Beside the groups of a bundle that is in parts of its rows.
ROWS = "rows"
# Beside the groups of a bundle that keeps rows, where halos might have been computed again.
CACHED = "cached"
# Beside the only group of a bundle that is in tiles which overlap, where it might be as it is.
TILED = "tiles"
_EXAMPLE = 'for example npu.refused = [{made_of = ["f_0", "f_1"], why = "it is too long"}]'


@dataclass(frozen=True)
class Refused:
    """Groups that don't become one, and why."""

    made_of: tuple[str, ...]
    why: str


def made_of(op: ir.Operation) -> tuple[str, ...]:
    """The groups that estimates made one, or left alone, of which an op is; none of what they weren't asked about."""
    return names_in(op.attributes[MADE_OF]) if MADE_OF in op.attributes else ()


def is_choice(groups: Sequence[str]) -> bool:
    """Whether what is made of these groups may be otherwise: they are several, or in parts of their rows."""
    return len(groups) > 1 or ROWS in groups


def mark_made_of(ops: Sequence[ir.Operation], groups: Sequence[str]) -> None:
    """Has ops say what they are made of, if that is anything."""
    for op in ops if groups else ():
        op.attributes[MADE_OF] = names_attribute(groups, op.context)


def refused_of(function: ir.Operation) -> tuple[Refused, ...]:
    """What a function says was refused of it; raises InputError where it says anything else."""
    return tuple(_refused(function, entry) for entry in entries_of(function, REFUSED))


def note_refused(function: ir.Operation, refused: Sequence[Refused]) -> None:
    """Has a function say so."""
    context = function.context
    entries = [
        {MADE_OF.partition(".")[2]: names_attribute(one.made_of, context), "why": ir.StringAttr.get(one.why, context)}
        for one in refused
    ]
    function.attributes[REFUSED] = ir.ArrayAttr.get([ir.DictAttr.get(one, context) for one in entries], context)


def refusal(refused: Sequence[Refused], groups: Sequence[str]) -> str | None:
    """Why groups don't become one: they were refused, or some of them; None where nothing is known of them."""
    return next((one.why for one in refused if set(one.made_of) <= set(groups)), None)


def _refused(function: ir.Operation, entry: ir.Attribute) -> Refused:
    said = {one.name: one.attr for one in entry} if isinstance(entry, ir.DictAttr) else {}
    groups, why = names_in(said.get("made_of")), said.get("why")
    if len(said) != 2 or not groups or not isinstance(why, ir.StringAttr):
        raise fail(function, f"{REFUSED} says {entry}", _EXAMPLE)
    return Refused(groups, why.value)


def entries_of(function: ir.Operation, name: str) -> list[ir.Attribute]:
    """The entries of an array that a function may have, or what it has in place of one."""
    if name not in function.attributes:
        return []
    said = function.attributes[name]
    return list(said) if isinstance(said, ir.ArrayAttr) else [said]


def names_attribute(groups: Iterable[str], context: ir.Context) -> ir.ArrayAttr:
    """An array of names."""
    return ir.ArrayAttr.get([ir.StringAttr.get(group, context) for group in groups], context)


def names_in(said: ir.Attribute | None) -> tuple[str, ...]:
    """The strings of an array of them; none of anything else."""
    entries = list(said) if isinstance(said, ir.ArrayAttr) else []
    return tuple(each.value for each in entries if isinstance(each, ir.StringAttr))
