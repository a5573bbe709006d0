"""A run as slices on engines, the links between them, and what memories held over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from npuflow.network.timed_phases import TimedPhase
from npuflow.simulate.program import (
    CORE_TILE,
    FlatAccess,
    FlatCompute,
    FlatEngine,
    FlatReceive,
    FlatSend,
    FlatStep,
    Program,
)
from npuflow.simulate.walk import leaves


@dataclass(frozen=True)
class Slice:
    """Something an engine did or waited for.

    `kind` is that of its step: compute, send, receive, control, acquire; a launch is one of its own.
    """

    engine: int
    name: str
    kind: str
    step: str
    begin: int
    end: int
    bytes: int = 0


@dataclass(frozen=True)
class Held:
    """A slot's bytes in a memory, from the first that writes them to the last that reads them; `tensor` is whose."""

    memory: str
    tensor: str
    address_bytes: int
    size_bytes: int
    begin: int
    end: int


@dataclass(frozen=True)
class Overview:
    """The whole run in pieces of equal length: how much each kind of engine was at work, in per cent.

    What comes after cycle `known` isn't known, as the run has too many events.
    """

    shares: Mapping[str, list[int]]
    known: int


@dataclass(frozen=True)
class Timeline:
    """`links` are pairs of slices, cause and effect.

    All events from cycle `begin` to `covered` are there. `is_cut` says that these are fewer than were asked for.
    `tensors` says whose data a kind of buffer holds; the array's launch takes the first `launch` cycles, and before the
    first nothing has run for `idle` cycles.
    """

    program: Program
    slices: tuple[Slice, ...]
    links: tuple[tuple[int, int], ...]
    held: tuple[Held, ...]
    cycles: int
    begin: int
    covered: int
    is_cut: bool
    tensors: Mapping[str, str]
    overview: Overview
    launch: int = 0
    idle: int = 0

    @property
    def cycles_per_us(self) -> float:
        return self.program.clock_hz / 1e6

    def as_phase(self, phase: TimedPhase) -> Timeline:
        """The run as a phase of a longer one: without a launch where that has none, and behind what changes."""
        idle = round(phase.change_us * self.cycles_per_us)
        if phase.launch_us or not self.launch:
            return replace(self, idle=idle)
        less = self.launch

        def earlier(cycle: int) -> int:
            return max(0, cycle - less)

        slices = tuple(replace(one, begin=earlier(one.begin), end=earlier(one.end)) for one in self.slices)
        held = tuple(replace(one, begin=earlier(one.begin), end=earlier(one.end)) for one in self.held)
        begin, covered, cycles = map(earlier, (self.begin, self.covered, self.cycles))
        moved = replace(self, slices=slices, held=held, begin=begin, covered=covered, cycles=cycles)
        return replace(moved, launch=0, idle=idle)

    @property
    def is_whole(self) -> bool:
        return self.begin == 0 and self.covered >= self.cycles

    def use(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """For every memory (cycle, bytes in use), whenever that changes."""
        changes: dict[str, dict[int, int]] = {}
        for one in self.held:
            at = changes.setdefault(one.memory, {})
            at[one.begin] = at.get(one.begin, 0) + one.size_bytes
            at[one.end] = at.get(one.end, 0) - one.size_bytes
        return {memory: _sums(at) for memory, at in changes.items()}


def _sums(changes: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    total, found = 0, []
    for cycle in sorted(changes):
        total += changes[cycle]
        found.append((cycle, total))
    return tuple(found)


def tile_name(engine: FlatEngine) -> str:
    """Where an engine stands: a core's tile, a memory tile, a shim, the control processor."""
    if engine.tile is None:
        return engine.place
    row, column = engine.tile
    return f"{engine.place} ({row},{column})" if engine.place == CORE_TILE else f"{engine.place} {column}"


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


def _accesses(step: FlatStep) -> Iterable[FlatAccess]:
    if isinstance(step, (FlatSend, FlatReceive)):
        return (step.access,)
    return tuple(operand.access for operand in step.operands) if isinstance(step, FlatCompute) else ()
