"""Functions compiled each by itself: those that are alike once, those that differ in processes side by side.

What a process finds comes back as data, its schedules as bytecode. Whatever goes wrong there but a refusal is left for
this process to run into, so that a defect is seen where it can be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from npuflow.bindings import ir
from npuflow.compiler.attempts import Fitting, compile_fitting
from npuflow.compiler.compiled import Function
from npuflow.compiler.functions import How, compile_functions
from npuflow.compiler.given import schedules_in
from npuflow.compiler.sources import bytecode_of, first_alike
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.dialect.context import new_context
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import functions_of
from npuflow.execute.limits import UNLIMITED, limited
from npuflow.execute.sandbox import beside, run_in_child

# So many times does a process get work: often enough to end together, seldom enough to begin quickly.
_TURNS = 4


@dataclass(frozen=True)
class Unit:
    """A public function in a module of its own, which is used up.

    Its first choices alone are tried `once`; `refusal` is what they met before.
    """

    module: ir.Module
    once: bool = False
    refusal: InputError | None = None


@dataclass(frozen=True)
class _Task:
    """A unit as data."""

    bytecode: bytes
    once: bool
    refusal: InputError | None


@dataclass(frozen=True)
class _UnitOutcome:
    """What compiling a unit gave: functions and the module of their schedules, or a refusal, and what was said."""

    found: Fitting | InputError
    said: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class _Sent:
    """An outcome as data: functions, which leave their IR behind, and that as bytecode."""

    functions: tuple[Function, ...]
    bytecode: bytes
    refusal: InputError | None
    said: tuple[Diagnostic, ...]


def compile_units(units: Sequence[Unit], how: How, sink: DiagnosticSink, jobs: int) -> list[Fitting | InputError]:
    """What each unit gave, compiled in up to `jobs` processes; what is said goes to `sink` in the units' order.

    The function of a unit that is like another before it says which one that is.
    """
    alike, names = first_alike([unit.module for unit in units]), [_name_of(unit.module) for unit in units]
    distinct = [number for number, first in enumerate(alike) if number == first]
    outcomes = dict(zip(distinct, _outcomes([units[number] for number in distinct], how, sink, jobs)))
    for outcome in outcomes.values():
        for diagnostic in outcome.said:
            sink.add(diagnostic)
    found = []
    for number, first in enumerate(alike):
        one = outcomes[first].found
        found.append(one if number == first or isinstance(one, InputError) else _renamed(one, names[number]))
    return found


def _name_of(module: ir.Module) -> str:
    (function,) = functions_of(module.operation)
    return str(function.opview.name.value)


def _renamed(fitting: Fitting, name: str) -> Fitting:
    return replace(fitting, functions=tuple(function.named(name) for function in fitting.functions))


def _outcomes(units: Sequence[Unit], how: How, sink: DiagnosticSink, jobs: int) -> Iterator[_UnitOutcome]:
    if jobs == 1 or len(units) < 2:
        for unit in units:
            yield _compiled(unit, how, sink)
        return
    size = ceil(len(units) / (_TURNS * jobs))
    chunks = [units[first : first + size] for first in range(0, len(units), size)]
    tasks = [[_Task(bytecode_of(unit.module), unit.once, unit.refusal) for unit in chunk] for chunk in chunks]
    with limited(UNLIMITED), beside(jobs) as pool:
        answers = list(pool.map(lambda chunk: _in_child(chunk, how, sink), tasks))
    for chunk, answer in zip(chunks, answers):
        if answer is None:
            yield from (_compiled(unit, how, sink) for unit in chunk)
        else:
            yield from (_received(sent, unit.module.context) for unit, sent in zip(chunk, answer))


def _compiled(unit: Unit, how: How, sink: DiagnosticSink) -> _UnitOutcome:
    """What choices that nobody will make say is kept to themselves: it may be none of the user's business."""
    own = replace(sink, diagnostics=[], on_add=None)
    try:
        if unit.once:
            found = Fitting(tuple(compile_functions(unit.module, how, own)), unit.module)
        else:
            found = compile_fitting(unit.module, how, own, unit.refusal)
    except InputError as error:
        return _UnitOutcome(error, () if unit.once else tuple(own.diagnostics))
    return _UnitOutcome(found, tuple(own.diagnostics))


# In a process of its own


def _in_child(tasks: Sequence[_Task], how: How, sink: DiagnosticSink) -> list[_Sent] | None:
    """The outcomes of tasks; None where the process failed."""

    def compile_tasks() -> list[_Sent]:
        return [_sent(task, how, sink) for task in tasks]

    try:
        return run_in_child(compile_tasks, "compiling")
    except Exception:  # noqa: BLE001  (it is met again where its traceback shows)
        return None


def _sent(task: _Task, how: How, sink: DiagnosticSink) -> _Sent:
    outcome = _compiled(Unit(parse(task.bytecode, new_context()), task.once, task.refusal), how, sink)
    if isinstance(outcome.found, InputError):
        return _Sent((), b"", outcome.found, outcome.said)
    return _Sent(outcome.found.functions, bytecode_of(outcome.found.module), None, outcome.said)


def _received(sent: _Sent, context: ir.Context) -> _UnitOutcome:
    if sent.refusal is not None:
        return _UnitOutcome(sent.refusal, sent.said)
    module = parse(sent.bytecode, context)
    schedules = schedules_in(module.operation)
    functions = tuple(one.with_ir(op, module) for one, op in zip(sent.functions, schedules, strict=True))
    return _UnitOutcome(Fitting(functions, module), sent.said)
