"""How long phases take behind what changes for them, and what DRAM could move in that time that they don't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.tasks_ahead import waiting_while
from npuflow.network.set_up import PhaseChange, Waiting
from npuflow.simulate.program import Program
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import DeadlockError, simulate
from npuflow.simulate.tasks_ahead import TasksAhead, set_ahead
from npuflow.target import Device, SharedBy

Place = tuple[int, int]


@dataclass(frozen=True)
class SpareTime:
    """How long a phase takes, and how many bytes more DRAM could read, and a channel beside it, by its tile.

    `waiting` is what its control processor and its shims leave to what is set up ahead.
    """

    cycles: int
    spare_bytes: float
    by_tile: Mapping[Place, float]
    waiting: Waiting


@dataclass(frozen=True)
class ReadyPhase:
    """A part's program with what is set up of its tasks in the phase before, and how late it begins for its change."""

    part: CompiledFunction
    tasks: TasksAhead
    late_cycles: int

    def time(self) -> SpareTime | None:
        """How long it takes without its change; None where its channels wait for each other."""
        try:
            results = simulate(self.tasks.program)
        except DeadlockError:
            return None
        device, cycles = self.part.device, results.cycles - self.part.launch_cycles
        moved, dram = results.level_traffic(device.dram_level), device.dram
        reads = cycles * dram.read_bytes_per_second / device.clock_hz - moved.read_bytes
        total = cycles * dram.total_bytes_per_second / device.clock_hz - moved.read_bytes - moved.written_bytes
        by_tile, waiting = _by_tile(results, device, cycles), waiting_while(results, device)
        return SpareTime(results.cycles, min(reads, total), by_tile, waiting)

    def behind_change(self, time: SpareTime | None, more_cycles: int) -> SpareTime | None:
        """A time with that of the change in front of it, and of what more is to be set up."""
        return None if time is None else replace(time, cycles=time.cycles + self.late_cycles + more_cycles)


def ready_phase(program: Program, part: CompiledFunction, change: PhaseChange, before: Waiting) -> ReadyPhase:
    """A part with a program, behind a change that takes what it doesn't find time for in the phase before."""
    done = change.set_up(part.device.control, before)
    return ReadyPhase(part, set_ahead(program, part.device, done.left), round(done.seconds * part.device.clock_hz))


def _by_tile(results: RunResults, device: Device, cycles: int) -> Mapping[Place, float]:
    """What a channel of each column could send more, where columns have channels of their own."""
    dma = device.dma(device.dram_level)
    if dma.shared_by is not SharedBy.COLUMN:
        return {}
    found = {(0, column): cycles * dma.bytes_per_cycle for column in range(device.columns)}
    tiles = {one.name: one.tile for one in results.program.engines if one.kind == f"{dma.name} out"}
    for stream in results.program.streams:
        tile = tiles.get(stream.sender)
        if tile in found:
            found[tile] -= results.stream_bytes[stream.name]
    return found
