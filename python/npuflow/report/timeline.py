"""A traced run as slices on engines, the links between them, and how full memories were over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.compiler.compiled_function import CompiledFunction, simulate_function
from npuflow.report.flows import flows_of
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatCompute,
    FlatControl,
    FlatEngine,
    FlatLoop,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
    Program,
)
from npuflow.simulate.results import Trace
from npuflow.simulate.run import RunLimits
from npuflow.simulate.walk import leaves

_IN_TILE = re.compile(r"\((\d+),(\d+)\)")


@dataclass(frozen=True)
class Slice:
    """Something an engine did or waited for; `kind` is that of its step: compute, send, receive, control, acquire."""

    engine: int
    name: str
    kind: str
    step: str
    begin: int
    end: int
    bytes: int = 0


@dataclass(frozen=True)
class Timeline:
    """`links` are pairs of slices, cause and effect; `use` gives (cycle, bytes in use) whenever that changes.

    `covered` is the cycle up to which a timeline that was cut is complete; `tensors` says whose data a kind of buffer
    holds.
    """

    program: Program
    slices: tuple[Slice, ...]
    links: tuple[tuple[int, int], ...]
    use: Mapping[str, tuple[tuple[int, int], ...]]
    cycles: int
    is_cut: bool
    covered: int
    tensors: Mapping[str, str]


def tile_name(engine: FlatEngine) -> str:
    """Where an engine stands: a core's tile, a memory tile, a shim, the control processor."""
    found = _IN_TILE.search(engine.name)
    if found:
        return f"tile ({found[1]},{found[2]})"
    kind = engine.kind.removesuffix(" in").removesuffix(" out").removesuffix(" dma")
    return kind if engine.tile is None else f"{kind} {engine.tile[1]}"


def tiles_of_memories(program: Program) -> Mapping[str, str]:
    """The tile whose engines work on a memory, for every memory that is used."""
    memory_of = {buffer.name: buffer.memory for buffer in program.buffers}
    found: dict[str, str] = {}
    for engine in program.engines:
        for memory in touched_memories(engine, memory_of):
            found.setdefault(memory, tile_name(engine))
    return found


def touched_memories(engine: FlatEngine, memory_of: Mapping[str, str]) -> list[str]:
    """The memories that an engine's steps read or write; `memory_of` finds a buffer's."""
    accesses = (access for step in leaves(engine.body) for access in _accesses(step))
    return list(dict.fromkeys(memory_of[access.buffer] for access in accesses))


def _accesses(step: FlatStep) -> tuple[FlatAccess, ...]:
    if isinstance(step, (FlatSend, FlatReceive)):
        return (step.access,)
    return tuple(operand.access for operand in step.operands) if isinstance(step, FlatCompute) else ()


def timeline_of(function: CompiledFunction, most_events: int) -> Timeline:
    """Simulates the function once more, keeping its first `most_events` events."""
    results = simulate_function(function, trace=True, limits=RunLimits(trace_events=most_events))
    trace = results.trace
    assert trace is not None, "a traced run has a trace"
    reader = _Reader(trace, function.labels)
    reader.read()
    covered = max((s.end for s in reader.slices), default=0) if trace.is_cut else results.cycles
    use = {memory: _steps(changes) for memory, changes in reader.changes().items()}
    links = tuple(reader.links())
    tensors = {buffer.tensor: reader.label(buffer.tensor) for buffer in results.program.buffers}
    return Timeline(results.program, tuple(reader.slices), links, use, results.cycles, trace.is_cut, covered, tensors)


def _steps(changes: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sums of changes, one per cycle that has some."""
    at: dict[int, int] = {}
    for cycle, change in changes:
        at[cycle] = at.get(cycle, 0) + change
    total, found = 0, []
    for cycle in sorted(at):
        total += at[cycle]
        found.append((cycle, total))
    return tuple(found)


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
    slices: list[Slice] = field(default_factory=list)
    versions: dict[tuple[str, int], _SlotTurn] = field(default_factory=dict)
    ends: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def read(self) -> None:
        """Every row becomes a slice, and is noted with the buffers that it touches."""
        program = self.trace.program
        self.buffers = {buffer.name: buffer for buffer in program.buffers}
        self.levels = {memory.name: memory.level for memory in program.memories}
        self.outermost = max(self.levels.values())
        self.tensor_of = flows_of(program).tensor_of
        self.causes = {semaphore.name: semaphore.cause.value for semaphore in program.semaphores}
        places = [place for engine in program.engines for place in _places(engine.body)]
        seen = [0] * len(places)
        for engine, number, begin, end in self.trace.rows.tolist():
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
                self.slices.append(Slice(engine, step.name, "control", step.name, begin, end))

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

    def changes(self) -> dict[str, list[tuple[int, int]]]:
        """When slots begin to hold something and when they have been read for the last time, by memory."""
        found: dict[str, list[tuple[int, int]]] = {}
        for (name, _), version in self.versions.items():
            touching = [self.slices[i] for i in (*version.writers, *version.readers)]
            buffer = self.buffers[name]
            changes = found.setdefault(buffer.memory, [])
            changes.append((min(s.begin for s in touching), buffer.slot_bytes))
            changes.append((max(s.end for s in touching), -buffer.slot_bytes))
        return found
