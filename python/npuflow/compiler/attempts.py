"""Functions whose first choices don't fit, compiled with others.

What is chosen is judged by estimates, and what a schedule needs is counted when there is one. An op alone cannot come
apart, so where its schedule needs more descriptors or memory than there is, its slots, tiles and cores are chosen
again, with less to count on. What the user has said stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from npuflow.bindings import ir
from npuflow.compiler.compiled import Function
from npuflow.compiler.functions import How, compile_functions
from npuflow.compiler.sources import copy_of
from npuflow.core.diagnostics import DiagnosticSink, location_of
from npuflow.errors import Diagnostic, InputError, Severity, Shortage
from npuflow.execute.arrays import functions_of
from npuflow.strategy.lacked import UNITS, note_lacked

# Choices are made again so often, each time to need as much less as was lacking; the last time, or where that changes
# nothing, the smallest tiles of one core are taken.
_AGAIN = 3

# What the choices for functions lacked so far, by the functions' names.
_Lacked = Mapping[str, tuple[Shortage, ...]]


def compile_fitting(
    module: ir.Module, how: How, sink: DiagnosticSink, refusal: InputError | None = None
) -> list[Function]:
    """What a pipeline makes of a module's functions, by the first choices that fit.

    Raises the first refusal if none do; it is `refusal` where the very first choices have been tried before.
    """
    lacked: _Lacked = {}
    refusals = [refusal] if refusal is not None else []
    said: list[Diagnostic] = []
    is_last = False
    while not is_last:
        if refusals:
            is_last = len(refusals) == _AGAIN or str(refusals[-1]) in map(str, refusals[:-1])
            more = _lacked_by(refusals[-1], is_last=is_last)
            if not more:
                break
            lacked = {name: (*lacked.get(name, ()), *more.get(name, ())) for name in {**lacked, **more}}
        own, attempt = replace(sink, diagnostics=[], on_add=None), _lacking(module, lacked)
        try:
            functions = compile_functions(attempt, how, own)
        except InputError as error:
            refusals.append(error)
            said = said or own.diagnostics
            continue
        for diagnostic in (*own.diagnostics, *_remarks(module, lacked, refusals)):
            sink.add(diagnostic)
        return functions
    for diagnostic in said:
        sink.add(diagnostic)
    raise refusals[0]


def _lacked_by(refusal: InputError, *, is_last: bool) -> _Lacked:
    """What choices lack by a refusal, the worst of each level; nothing where to need less is no answer to it.

    The last time there is said to be nothing, so that the smallest is chosen.
    """
    found: dict[str, dict[tuple[int, str], Shortage]] = {}
    for diagnostic in refusal.diagnostics:
        one = diagnostic.shortage
        if one is None or one.unit not in UNITS:
            return {}
        worst, key = found.setdefault(one.function, {}), (one.level, one.unit)
        if key not in worst or one.need * worst[key].have > worst[key].need * one.have:
            worst[key] = replace(one, have=0) if is_last else one
    return {name: tuple(worst.values()) for name, worst in found.items()}


def _lacking(module: ir.Module, lacked: _Lacked) -> ir.Module:
    """A copy whose functions say what was lacking."""
    copy = copy_of(module)
    for function in functions_of(copy.operation):
        if shortages := lacked.get(str(function.opview.name.value)):
            note_lacked(function, shortages)
    return copy


def _remarks(module: ir.Module, lacked: _Lacked, refusals: list[InputError]) -> Iterator[Diagnostic]:
    """What was chosen again, and for what."""
    for function in functions_of(module.operation):
        name = str(function.opview.name.value)
        if name in lacked:
            said = [d for error in refusals for d in error.diagnostics if d.shortage and d.shortage.function == name]
            what = f"@{name} is mapped by other choices than the first, by which {said[0].what}"
            yield Diagnostic(Severity.REMARK, what, location_of(function))
