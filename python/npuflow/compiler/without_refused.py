"""Functions of which a schedule refused what estimates had made one, or parts took too long, to be tried otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from npuflow.compiler.cut import CutFunction, prepare
from npuflow.compiler.regroupings import Regrouping
from npuflow.compiler.sources import FunctionSource, sources_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import PassNest
from npuflow.errors import InputError
from npuflow.ops.estimated import note_together, together_of
from npuflow.ops.refused import Refused, is_choice, made_of, note_refused, refused_of


def without_refused(
    source: FunctionSource, prefix: PassNest, cut: CutFunction | None, refusals: Mapping[str, InputError]
) -> FunctionSource | None:
    """The function, which says that groups don't become one again; None where nothing that was refused was made one.

    `refusals` are by the names of its parts, or by its own where it wasn't `cut`.
    """
    known = refused_of(source.function)
    found = {one.made_of: one for one in known}
    for name, error in refusals.items():
        bundles = _of_whole(source, prefix) if cut is None else _of_part(cut, name)
        for groups in filter(is_choice, bundles):
            found.setdefault(groups, Refused(groups, error.diagnostics[0].what))
    if len(found) == len(known):
        return None
    (again,) = sources_of(source.alone())
    note_refused(again.function, [*found.values()])
    return again


def regrouped(source: FunctionSource, changes: Sequence[Regrouping]) -> FunctionSource:
    """The function, which says of these groups as well that they become one, or that they don't."""
    (again,) = sources_of(source.alone())
    together = [groups for one in changes for groups in one.as_one]
    apart = [
        (groups, one.why) for one in changes for groups in one.apart if not any(groups < each for each in together)
    ]
    if apart:
        refused = [Refused(tuple(sorted(groups)), why) for groups, why in apart]
        note_refused(again.function, [*refused_of(again.function), *refused])
    note_together(again.function, [*together_of(again.function), *together])
    return again


def _of_part(cut: CutFunction, name: str) -> Iterable[tuple[str, ...]]:
    """What a part is made of, wherever it is called."""
    return (call.made_of for call in cut.calls.calls if call.name == name)


def _of_whole(source: FunctionSource, prefix: PassNest) -> Iterable[tuple[str, ...]]:
    """What all bundles of a function are made of: which of them others leave no room for isn't known."""
    try:
        prepared = prepare(source, prefix, DiagnosticSink())
    except InputError:
        return ()
    return [made_of(op) for op in ops_of(prepared.function)]
