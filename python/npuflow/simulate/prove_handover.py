"""What npuflow-check-handover finds in a schedule: problems of its program, at the steps that they are about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import PassContext
from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint
from npuflow.schedule.check.well_formed import ill_formed
from npuflow.schedule.data import model
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import placed_steps
from npuflow.schedule.ir.read_kernels import kernel_interfaces
from npuflow.schedule.ir.read_schedule import read_schedule
from npuflow.simulate.faults import faults
from npuflow.simulate.flatten import engine_names, flatten, names_of_things
from npuflow.simulate.handover import few_rounds, moved_bytes, semaphore_problems, step_count
from npuflow.simulate.kernels import idle_kernel
from npuflow.simulate.program import FlatAcquire, FlatReceive, FlatRelease, FlatSend, Program
from npuflow.simulate.results import Hazard, HazardKind
from npuflow.simulate.run import RunLimits, execute, simulate
from npuflow.simulate.walk import computes
from npuflow.target import Device

# What is run whole; what takes more is cut to a few rounds, if they say enough about the rest. About 0.2 seconds each.
_MOST_STEPS = 500_000
_LONGEST_RUN = 50_000_000
_MOST_DATA_BYTES = 64 << 20
_MOST_MOVED_BYTES = 32 << 20

_WAIT = re.compile(r"'(?P<engine>[^']+)' (?:waits at|is at) '(?P<step>[^']+)'")
_STEP = re.compile(r"'(?P<step>[^']+)' of '(?P<engine>[^']+)'")
_HINTS = {
    HazardKind.RACE: "acquire what the other one releases, before the first of them and after the second",
    HazardKind.UNWRITTEN: "check the slots and offsets of what writes there, or wait for it",
    HazardKind.LOST: "wait until the slot has been read before writing to it again, or check its slot and offset",
}


def check_handover(module: ir.Operation, device: Device, context: PassContext) -> None:
    """Raises InputError with every problem of a schedule; remarks on what wasn't looked for."""
    schedule = read_schedule(module, device)
    place = location_of(module)
    wrong = ill_formed(schedule, device, kernel_interfaces(module, device))
    if wrong:
        raise InputError([Diagnostic(Severity.ERROR, str(w), w.location or place) for w in wrong])
    program = flatten(schedule, device)
    checker = _Checker(schedule, engine_names(schedule, device), names_of_things(schedule), place)
    found = checker.semaphores(program)
    if not found:
        found += checker.problems(program)
    for reason in checker.skipped:
        context.remark(module, reason)
    if found:
        raise InputError(found)


@dataclass
class _Checker:
    """Runs a program, whole or a few rounds of it, and says where in the schedule something went wrong."""

    schedule: Schedule
    engines: Mapping[str, tuple[str, Mapping[str, int]]]
    things: Mapping[str, str]
    place: SourceLocation | None
    skipped: list[str] = field(default_factory=list)

    def semaphores(self, program: Program) -> list[Diagnostic]:
        """The first problem of each of the schedule's semaphores."""
        found: dict[str, Diagnostic] = {}
        for problem in semaphore_problems(program):
            name = self.things[problem.semaphore]
            text = self._readable(with_hint(problem.what, problem.hint))
            location = self.schedule.semaphores[name].location or self.place
            found.setdefault(name, Diagnostic(Severity.ERROR, text, location))
        return list(found.values())

    def _readable(self, text: str) -> str:
        """Engines by the names of their functions, with their coordinates."""

        def name(match: re.Match[str]) -> str:
            if match[1] not in self.engines:
                return match[0]
            engine, place = self.engines[match[1]]
            return f"'{engine}'" + (f" ({', '.join(f'{k} {v}' for k, v in place.items())})" if place else "")

        return re.sub(r"'([^']+)'", name, text)

    def problems(self, program: Program) -> list[Diagnostic]:
        runs: tuple[Program, ...] = (program,)
        if step_count(program) > _MOST_STEPS:
            runs = few_rounds(program) or runs
        for run in runs:
            try:
                simulate(run, limits=RunLimits(steps=_LONGEST_RUN))
            except InputError as error:
                return self._located(error)
        return self._hazards(program, runs[-1])

    def _hazards(self, program: Program, run: Program) -> list[Diagnostic]:
        if moved_bytes(run) > _MOST_MOVED_BYTES:
            short = few_rounds(program)
            run = short[-1] if short else run
        data, moved = sum(memory.bytes for memory in run.memories), moved_bytes(run)
        if data > _MOST_DATA_BYTES or moved > _MOST_MOVED_BYTES:
            limits = f"{_MOST_DATA_BYTES} and {_MOST_MOVED_BYTES}"
            self.skipped.append(f"races are not looked for: {data} bytes of memory and {moved} moved, at most {limits}")
            return []
        try:
            results = execute(run, self._inputs(run), {call.kernel: idle_kernel() for call, _ in computes(run)}).results
        except InputError as error:
            return self._located(error)
        return self._first_of_each(faults(results))

    def _inputs(self, program: Program) -> Mapping[str, NDArray[np.uint8]]:
        sizes = {memory.name: memory.bytes for memory in program.memories}
        return {name: np.zeros(sizes[name], np.uint8) for name in (*self.schedule.arguments, *self.schedule.constants)}

    def _first_of_each(self, hazards: list[Hazard]) -> list[Diagnostic]:
        """One message per kind and step of the schedule, for all like engines."""
        found: dict[tuple[str, ...], Diagnostic] = {}
        for hazard in hazards:
            places = [self._step_at(match) for match in _STEP.finditer(f"{hazard.step} {hazard.other}")]
            key = (hazard.kind.value, *(str(place) for place in places))
            text = with_hint(self._readable(str(hazard)), _HINTS[hazard.kind])
            location = next((place for place in places if place), None) or self.place
            found.setdefault(key, Diagnostic(Severity.ERROR, text, location))
        return list(found.values())

    def _located(self, error: InputError) -> list[Diagnostic]:
        """The error's messages at the step that the first of them names."""
        return [self._located_one(d) for d in error.diagnostics]

    def _located_one(self, diagnostic: Diagnostic) -> Diagnostic:
        match = _WAIT.search(diagnostic.message) or _STEP.search(diagnostic.message)
        location = self._step_at(match) if match else None
        text = self._readable(diagnostic.message)
        return Diagnostic(Severity.ERROR, text, location or diagnostic.location or self.place)

    def _step_at(self, match: re.Match[str]) -> SourceLocation | None:
        """Where a step of a flat engine stands in the schedule."""
        known = self.engines.get(match["engine"])
        if known is None:
            return None
        engine = self.schedule.engines[known[0]]
        kind, _, thing = match["step"].partition(" ")
        for placed in placed_steps(engine, self.schedule.extents):
            if _describes(placed.step, kind, self.things.get(thing, thing)):
                return placed.location or engine.location
        return engine.location


# What a step that is named after its kind is called in a flat program.
_KINDS: dict[type, str] = {
    model.Acquire: FlatAcquire.kind,
    model.Release: FlatRelease.kind,
    model.Send: FlatSend.kind,
    model.Receive: FlatReceive.kind,
}


def _describes(step: model.Step, kind: str, name: str) -> bool:
    """Whether a step's name in a flat program can be this step's."""
    if isinstance(step, (model.Acquire, model.Release)):
        return kind == _KINDS[type(step)] and step.semaphore.name == name
    if isinstance(step, (model.Send, model.Receive)):
        return kind == _KINDS[type(step)] and step.stream.name == name
    return isinstance(step, model.Compute) and kind in (step.kernel, step.kind)
