"""From a traced run to its timeline: the events of a window, whose data they move, and what follows from what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.errors import UsageError, with_hint
from npuflow.report.flows import flows_of
from npuflow.report.overview import PIECES, shares_at_work
from npuflow.report.timeline import Held, Overview, Slice, Timeline
from npuflow.report.window import WHOLE, Window
from npuflow.report.words import quantity
from npuflow.simulate.program import (
    LAUNCH,
    FlatAccess,
    FlatAcquire,
    FlatCompute,
    FlatControl,
    FlatLoop,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
)
from npuflow.simulate.results import Trace
from npuflow.simulate.run import RunLimits, simulate

# In memory 32 bytes each, twice while they are handed over.
MOST_TRACED = 4_000_000

Rows = NDArray[np.int64]


def timeline_of(function: CompiledFunction, most_events: int, window: Window = WHOLE, pieces: int = PIECES) -> Timeline:
    """Simulates the function once more, keeping the first `most_events` events of a window."""
    results = simulate(function.program, trace=True, limits=RunLimits(trace_events=MOST_TRACED))
    trace, cycles = results.trace, results.cycles
    assert trace is not None, "a traced run has a trace"
    known = int(trace.rows[-1, 3]) if trace.is_cut else cycles
    begin, end = window.cycles(results.program.clock_hz, cycles)
    chosen, is_cut = _chosen(trace.rows, begin, end, most_events)
    is_cut = is_cut or end > known
    covered = int(trace.rows[chosen, 3].max(initial=begin)) if is_cut else end
    reader = _Reader(trace, function.labels, begin, max(covered, begin))
    reader.read(chosen)
    return Timeline(
        results.program,
        tuple(reader.slices),
        tuple(reader.links()),
        tuple(reader.held()),
        cycles,
        begin,
        reader.covered,
        is_cut,
        {buffer.tensor: reader.label(buffer.tensor) for buffer in results.program.buffers},
        Overview(_shares(trace, cycles, pieces), known),
        function.launch_cycles,
    )


def check_shown(window: Window, timelines: Iterable[Timeline]) -> None:
    """Raises UsageError where a window has nothing in it, as all that is known of a long run comes before it."""
    made = list(timelines)
    if window == WHOLE or any(timeline.slices for timeline in made):
        return
    known = max(timeline.overview.known / timeline.program.clock_hz for timeline in made)
    what = f"nothing of the window '{window}' can be shown: events are known for {quantity(known, 's')}"
    raise UsageError(with_hint(what, "give a window before that"))


def _chosen(rows: Rows, begin: int, end: int, most: int) -> tuple[NDArray[np.int64], bool]:
    """The numbers of the first events that have something in a window, and whether there are more."""
    inside = np.flatnonzero((rows[:, 3] > begin) & (rows[:, 2] < end))
    return inside[:most], len(inside) > most


def _shares(trace: Trace, cycles: int, pieces: int) -> Mapping[str, list[int]]:
    """What engines do but wait; a launch is no work."""
    places = trace.encoded.steps
    is_work = np.array([p.kind not in ("acquire", "release") and p.name != LAUNCH for p in places], dtype=bool)
    return shares_at_work(trace.rows, [engine.kind for engine in trace.program.engines], is_work, cycles, pieces)


@dataclass(frozen=True)
class _NestedStep:
    """A step and the trip counts of the loops around it, the outermost first."""

    step: FlatStep | None
    counts: tuple[int, ...]

    def turn(self, access: FlatAccess, occurrence: int) -> int:
        """Which turn of the buffer the step's access is at when it runs for the nth time."""
        turn, rest = access.slot.constant, occurrence
        for count, weight in zip(reversed(self.counts), reversed(self._weights(access))):
            turn += rest % count * weight
            rest //= count
        return turn

    def _weights(self, access: FlatAccess) -> tuple[int, ...]:
        weights = access.slot.coefficients
        return weights + (0,) * (len(self.counts) - len(weights))


def _places(body: tuple[FlatStep, ...], counts: tuple[int, ...] = ()) -> Iterator[_NestedStep]:
    """Every step in the order the simulator numbers them; a loop is numbered at its begin and its end."""
    for step in body:
        if not isinstance(step, FlatLoop):
            yield _NestedStep(step, counts)
            continue
        yield _NestedStep(None, counts)
        yield from _places(step.body, (*counts, step.count))
        yield _NestedStep(None, counts)


@dataclass
class _SlotTurn:
    """What a slot holds in one turn: the slices that write and read it."""

    writers: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


@dataclass
class _Reader:
    trace: Trace
    labels: Mapping[str, str]
    begin: int
    covered: int
    slices: list[Slice] = field(default_factory=list)
    versions: dict[tuple[str, int], _SlotTurn] = field(default_factory=dict)
    ends: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def read(self, chosen: NDArray[np.int64]) -> None:
        """Every row that is chosen becomes a slice, and is noted with the buffers that it touches."""
        program = self.trace.program
        self.buffers = {buffer.name: buffer for buffer in program.buffers}
        self.levels = {memory.name: memory.level for memory in program.memories}
        self.outermost = max(self.levels.values())
        self.tensor_of = flows_of(program).tensor_of
        self.causes = {semaphore.name: semaphore.cause.value for semaphore in program.semaphores}
        places = [place for engine in program.engines for place in _places(engine.body)]
        rows = self.trace.rows
        before = rows[: chosen[0]] if len(chosen) else rows[:0]
        seen = np.bincount(before[:, 1], minlength=len(places)).tolist()
        for engine, number, begin, end in rows[chosen].tolist():
            place = places[number]
            assert place.step is not None, "a loop takes no time of its own"
            self._add(engine, place, seen[number], begin, end)
            seen[number] += 1

    def _add(self, engine: int, place: _NestedStep, occurrence: int, begin: int, end: int) -> None:
        step, index = place.step, len(self.slices)
        match step:
            case FlatSend(stream, access) | FlatReceive(stream, access):
                kind = step.kind
                name = f"{kind} {self.label(self.buffers[access.buffer].tensor)}"
                self.slices.append(Slice(engine, name, kind, stream, begin, end, access.bytes))
                self.ends.setdefault((stream, occurrence), []).append(index)
                self._touch(access, place, occurrence, index, writes=isinstance(step, FlatReceive))
            case FlatCompute(kernel, _, operands):
                self.slices.append(Slice(engine, step.name or kernel, "compute", kernel, begin, end))
                for operand in operands:
                    self._touch(operand.access, place, occurrence, index, writes=operand.writes)
            case FlatAcquire(semaphore) | FlatRelease(semaphore):
                cause = self.causes[semaphore]
                self.slices.append(Slice(engine, f"wait for {cause}", "acquire", semaphore, begin, end))
            case FlatControl():
                kind = LAUNCH if step.name == LAUNCH else step.kind
                self.slices.append(Slice(engine, step.name, kind, step.name, begin, end))

    def label(self, kind: str) -> str:
        """The tensor in DRAM whose data a kind of buffer holds."""
        tensor = self.tensor_of.get(kind, kind)
        return self.labels.get(tensor, tensor)

    def _touch(self, access: FlatAccess, place: _NestedStep, occurrence: int, index: int, *, writes: bool) -> None:
        if self.levels[self.buffers[access.buffer].memory] == self.outermost:
            return
        version = self.versions.setdefault((access.buffer, place.turn(access, occurrence)), _SlotTurn())
        (version.writers if writes else version.readers).append(index)

    def links(self) -> Iterator[tuple[int, int]]:
        """From each sender to its receivers, and from the last that wrote a slot to the first other that read it."""
        for indices in self.ends.values():
            senders = [i for i in indices if self.slices[i].kind == "send"]
            yield from ((sender, i) for sender in senders for i in indices if i != sender)
        for version in self.versions.values():
            yield from self._handed_over(version)

    def _handed_over(self, version: _SlotTurn) -> Iterator[tuple[int, int]]:
        if not version.writers:
            return
        writer = max(version.writers, key=lambda i: self.slices[i].end)
        given = self.slices[writer]
        takers = (i for i in version.readers if self.slices[i].engine != given.engine)
        taker = min(takers, key=lambda i: self.slices[i].begin, default=None)
        if taker is not None and self.slices[taker].begin >= given.begin:
            yield writer, taker

    def held(self) -> Iterator[Held]:
        """What slots hold, and when; what comes from before the window, or goes on behind it, is cut off there."""
        for (name, turn), version in self.versions.items():
            touching = [self.slices[i] for i in (*version.writers, *version.readers)]
            begin = min(s.begin for s in touching) if version.writers else self.begin
            end = max(s.end for s in touching) if version.readers else self.covered
            buffer = self.buffers[name]
            address = buffer.address_bytes + turn % buffer.depth * buffer.slot_bytes
            yield Held(buffer.memory, self.label(buffer.tensor), address, buffer.slot_bytes, begin, max(begin, end))
