"""What a run of the simulator tells, in the program's own names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npuflow import _native
from npuflow.simulate.encode import Encoded, Named
from npuflow.simulate.program import Cause, Program

BUSY_CAUSES = (Cause.KERNEL, Cause.TRANSFER, Cause.CONTROL, Cause.START)


@dataclass(frozen=True)
class EngineTime:
    """Where an engine's cycles went until it finished, by cause; after that it is idle."""

    name: str
    kind: str
    by_cause: Sequence[int]
    finished: int

    @cached_property
    def spent(self) -> Mapping[Cause, int]:
        return dict(zip(Cause, self.by_cause, strict=True))

    @property
    def busy_cycles(self) -> int:
        return sum(self.spent[cause] for cause in BUSY_CAUSES)

    @property
    def stall_cycles(self) -> int:
        return sum(cycles for cause, cycles in self.spent.items() if cause not in BUSY_CAUSES)


@dataclass(frozen=True)
class Traffic:
    """What transfers read from and wrote to a buffer; kernels' own accesses are not counted."""

    read_bytes: int
    written_bytes: int


@dataclass(frozen=True)
class TraceEvent:
    """One step that took time: a wait, at its acquire; a kernel; a transfer from its first byte on."""

    engine: str
    step: str
    kind: str
    begin: int
    end: int


@dataclass(frozen=True)
class Trace:
    """Events as rows of (engine, step, begin, end), in the order they ended."""

    rows: NDArray[np.int64]
    is_cut: bool
    program: Program
    encoded: Encoded

    def __len__(self) -> int:
        return len(self.rows)

    def event(self, row: int) -> TraceEvent:
        engine, step, begin, end = (int(value) for value in self.rows[row])
        place = self.encoded.steps[step]
        return TraceEvent(self.program.engines[engine].name, place.name, place.kind, begin, end)

    def events(self) -> list[TraceEvent]:
        return [self.event(row) for row in range(len(self))]


class HazardKind(Enum):
    """A race: two steps touch the same bytes, one writes, and nothing orders them. The others: see `Hazard.__str__`."""

    RACE = "race"
    UNWRITTEN = "unwritten"
    LOST = "lost"


@dataclass(frozen=True)
class Hazard:
    """Something a functional run saw that no right schedule does; `step` and `other` are `'step' of 'engine'`."""

    kind: HazardKind
    step: str
    other: str
    memory: str
    low_byte: int
    high_byte: int
    cycle: int

    def __str__(self) -> str:
        where = f"bytes {self.low_byte} to {self.high_byte - 1} of '{self.memory}' at cycle {self.cycle}"
        if self.kind is HazardKind.RACE:
            return f"race: {self.step} touches {where} without having waited for {self.other}"
        if self.kind is HazardKind.UNWRITTEN:
            return f"{self.step} reads {where}, which nothing has written"
        return f"{self.step} overwrites {where} before anything has read them"


@dataclass(frozen=True)
class Utilisation:
    """How much of its cycles a shared resource was taken, or an engine busy."""

    name: str
    share: float


@dataclass(frozen=True)
class RunResults:
    """One run. `operations` counts the steps that engines carried out."""

    program: Program
    cycles: int
    operations: int
    engines: tuple[EngineTime, ...]
    resource_bytes: Mapping[str, float]
    stream_bytes: Mapping[str, int]
    traffic: Mapping[str, Traffic]
    semaphore_waits: Mapping[str, int]
    semaphore_values: Mapping[str, int]
    trace: Trace | None
    hazards: tuple[Hazard, ...]

    @property
    def seconds(self) -> float:
        return self.cycles / self.program.clock_hz

    def engine(self, name: str) -> EngineTime:
        return next(engine for engine in self.engines if engine.name == name)

    def level_traffic(self, level: int) -> Traffic:
        """All that transfers read from and wrote to the memories of a level."""
        levels = {memory.name: memory.level for memory in self.program.memories}
        here = [self.traffic[b.name] for b in self.program.buffers if levels[b.memory] == level]
        return Traffic(sum(t.read_bytes for t in here), sum(t.written_bytes for t in here))

    def utilisations(self) -> list[Utilisation]:
        """Every shared resource and engine by how busy it was, the critical one first."""
        rates = {resource.name: resource.bytes_per_cycle for resource in self.program.resources}
        cycles = max(self.cycles, 1)
        shares = [Utilisation(name, taken / rates[name] / cycles) for name, taken in self.resource_bytes.items()]
        shares += [Utilisation(engine.name, engine.busy_cycles / cycles) for engine in self.engines]
        return sorted(shares, key=lambda u: -u.share)

    def unbalanced_semaphores(self) -> tuple[str, ...]:
        """Semaphores that ended with another value than they began with: the program could not run twice."""
        return tuple(s.name for s in self.program.semaphores if self.semaphore_values[s.name] != s.initial)


def decode(program: Program, encoded: Encoded, native: _native.RawResults, *, traced: bool) -> RunResults:
    """The core's results in the program's names."""
    engines = tuple(
        EngineTime(engine.name, engine.kind, time.spent, time.finished)
        for engine, time in zip(program.engines, native.engines, strict=True)
    )
    buffers = [Traffic(traffic.read_bytes, traffic.written_bytes) for traffic in native.buffers]
    return RunResults(
        program,
        native.cycles,
        native.operations,
        engines,
        dict(zip(_names(program.resources), native.resource_bytes, strict=True)),
        dict(zip(_names(program.streams), native.stream_bytes, strict=True)),
        dict(zip(_names(program.buffers), buffers, strict=True)),
        dict(zip(_names(program.semaphores), native.semaphore_waits, strict=True)),
        dict(zip(_names(program.semaphores), native.semaphore_values, strict=True)),
        Trace(native.trace(), native.trace_is_cut, program, encoded) if traced else None,
        tuple(_hazard(program, encoded, hazard) for hazard in native.hazards),
    )


def _names(things: Sequence[Named]) -> list[str]:
    return [thing.name for thing in things]


def _hazard(program: Program, encoded: Encoded, hazard: _native.RawHazard) -> Hazard:
    def text(step: int) -> str:
        place = encoded.steps[step]
        return f"'{place.name}' of '{program.engines[place.engine].name}'"

    other = text(hazard.other) if hazard.other >= 0 else ""
    memory = program.memories[hazard.memory].name
    kind = tuple(HazardKind)[hazard.kind]
    return Hazard(kind, text(hazard.op), other, memory, hazard.low_byte, hazard.high_byte, hazard.cycle)
