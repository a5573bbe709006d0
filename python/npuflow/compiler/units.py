"""Functions compiled each by itself: those that are alike once, those that differ in processes side by side.

What a process finds comes back as data, its schedules as bytecode. Whatever goes wrong there but a refusal is left for
this process to run into, so that a defect is seen where it can be looked at.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.bindings import ir
from npuflow.compiler.attempts import compile_fitting
from npuflow.compiler.compiled import Function
from npuflow.compiler.functions import How, compile_functions, of_function
from npuflow.compiler.given import schedules_in
from npuflow.compiler.sources import bytecode_of, first_alike
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import PassNest
from npuflow.errors import Diagnostic, InputError
from npuflow.execute.arrays import functions_of
from npuflow.execute.sandbox import in_turns
from npuflow.strategy.choose import CHOSEN


@dataclass(frozen=True)
class Unit:
    """A public function in a module of its own, which is used up where its first choices alone are tried `once`.

    `refusal` is what they met before. It may be a part of another one.
    """

    module: ir.Module
    once: bool = False
    refusal: InputError | None = None
    is_part: bool = False


@dataclass(frozen=True, eq=False)
class UnitOutcome:
    """What compiling a unit gave, a function or a refusal, and what was said; each is equal to itself alone."""

    found: Function | InputError
    said: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class _Sent:
    """An outcome as data: a function leaves its IR behind, and that is bytecode."""

    outcome: UnitOutcome
    bytecode: bytes = b""


@dataclass
class UnitCompiler:
    """Compiles units in up to `jobs` processes, none again that is like one before."""

    how: How
    sink: DiagnosticSink
    jobs: int
    _units: list[Unit] = field(default_factory=list)
    _outcomes: list[UnitOutcome] = field(default_factory=list)

    def compile(self, units: Sequence[Unit]) -> list[UnitOutcome]:
        """What each unit gave; of units that are alike, the same."""
        everything = [*self._units, *units]
        first_places: dict[tuple[int, PassNest], int] = {}
        alike = first_alike([unit.module for unit in everything])
        places = [
            first_places.setdefault((first, _how_of(unit, self.how).pipeline), place)
            for place, (first, unit) in enumerate(zip(alike, everything))
        ]
        new = [place for place, first in enumerate(places) if place == first and place >= len(self._units)]
        made = self.compile_anew([everything[place] for place in new])
        outcomes = dict(enumerate(self._outcomes)) | dict(zip(new, made))
        found = [outcomes[first] for first in places[len(self._units) :]]
        self._units += [everything[place] for place in new]
        self._outcomes += made
        return found

    def compile_anew(self, units: Sequence[Unit]) -> list[UnitOutcome]:
        """What each unit gave, whatever was compiled before; it is forgotten."""
        parent = os.getpid()

        def outcomes(some: Iterator[int]) -> tuple[dict[int, UnitOutcome | _Sent], Mapping[Hashable, object]]:
            before = frozenset(CHOSEN.questions)
            found = {number: _compiled(units[number], self.how, self.sink) for number in some}
            sent = {number: each if os.getpid() == parent else _sent(each) for number, each in found.items()}
            return sent, CHOSEN.beyond(before)

        found: dict[int, UnitOutcome] = {}
        for made, chosen in in_turns(outcomes, range(len(units)), self.jobs, "compiling"):
            CHOSEN.learn(chosen)  # whoever compiles them again, on fewer cores say, asks much of it again
            for number, one in made.items():
                found[number] = _received(one, units[number].module.context) if isinstance(one, _Sent) else one
        missing = [number for number in range(len(units)) if number not in found]
        found |= {number: _compiled(units[number], self.how, self.sink) for number in missing}
        return [found[number] for number in range(len(units))]


def _how_of(unit: Unit, how: How) -> How:
    """How a unit is compiled: options may name what is of other functions."""
    if unit.is_part:
        return how.of_parts
    (function,) = functions_of(unit.module.operation)
    return replace(how, pipeline=of_function(how.pipeline, str(function.opview.name.value)))


def _compiled(unit: Unit, how: How, sink: DiagnosticSink) -> UnitOutcome:
    """What choices that nobody will make say is kept to themselves: it may be none of the user's business."""
    own, how = replace(sink, diagnostics=[], on_add=None), _how_of(unit, how)
    try:
        if unit.once:
            (function,) = compile_functions(unit.module, how, own)
        else:
            (function,) = compile_fitting(unit.module, how, own, unit.refusal)
    except InputError as error:
        return UnitOutcome(error, () if unit.once else tuple(own.diagnostics))
    return UnitOutcome(function, tuple(own.diagnostics))


# From one process to another


def _sent(outcome: UnitOutcome) -> _Sent:
    if isinstance(outcome.found, InputError):
        return _Sent(outcome)
    return _Sent(outcome, bytecode_of(outcome.found.compiled.module))


def _received(sent: _Sent, context: ir.Context) -> UnitOutcome:
    found = sent.outcome.found
    if isinstance(found, InputError):
        return sent.outcome
    module = parse(sent.bytecode, context)
    (schedule,) = schedules_in(module.operation)
    return replace(sent.outcome, found=found.with_ir(schedule, module))
