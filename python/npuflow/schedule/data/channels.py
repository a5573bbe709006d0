"""Which DMA channel of which memory each engine is: one mapping for checks and for the simulator. Pure.

A memory tile's out-channels begin with those of lane 0, then lane 1's, then the results'; its in-channels with the two
lanes from L3, then one for each row's results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npuflow.schedule.data.model import Engine, Schedule, Stage
from npuflow.strategy.lane_descriptors import LANES

Place = Mapping[str, int]

_LEVELS = {
    Stage.SHIM_OUT: 3,
    Stage.SHIM_IN: 3,
    Stage.MEMORY_IN: 2,
    Stage.MEMORY_OUT: 2,
    Stage.RESULT_IN: 2,
    Stage.RESULT_OUT: 2,
    Stage.CORE_IN: 1,
    Stage.CORE: 1,
    Stage.CORE_OUT: 1,
}
_INWARD = (Stage.MEMORY_IN, Stage.CORE_IN, Stage.RESULT_IN, Stage.SHIM_IN)


@dataclass(frozen=True)
class Memory:
    """One memory of a level; outside the cores the row is 0."""

    level: int
    row: int
    column: int

    def __str__(self) -> str:
        if self.level == 1:
            return f"core ({self.row},{self.column})"
        return f"memory tile {self.column}" if self.level == 2 else f"shim {self.column}"


@dataclass(frozen=True)
class Channel:
    """One channel of the DMA engine beside a memory."""

    memory: Memory
    inward: bool
    number: int

    def __str__(self) -> str:
        return f"{'in' if self.inward else 'out'}-channel {self.number} of {self.memory}"


def column_of(place: Place, schedule: Schedule) -> int:
    """The column whose memory tile and shim serve a place."""
    if "tile" in place:
        return place["tile"]
    return place["column"] if "column" in place else place.get("row", 0) % schedule.extents["tile"]


def memory_of(engine: Engine, place: Place, schedule: Schedule) -> Memory | None:
    """The memory that an engine stands beside; None for the control processor."""
    if engine.stage is Stage.CONTROL:
        return None
    level = _LEVELS[engine.stage]
    return Memory(level, place.get("row", 0) if level == 1 else 0, column_of(place, schedule))


def channel_of(engine: Engine, place: Place, schedule: Schedule) -> Channel | None:
    """The channel that an engine is; None for cores and the control processor."""
    memory = memory_of(engine, place, schedule)
    if memory is None or engine.stage is Stage.CORE:
        return None
    return Channel(memory, engine.stage in _INWARD, _number(engine, place, schedule))


def _number(engine: Engine, place: Place, schedule: Schedule) -> int:
    row = place.get("row", 0)
    if engine.stage is Stage.MEMORY_OUT:
        first = sum(_width(other, schedule) for other in _lanes(schedule) if other.lane < engine.lane)
        return first + (row // schedule.extents["tile"] if engine.span == ("row",) else row)
    if engine.stage is Stage.RESULT_IN:
        return LANES + row
    if engine.stage is Stage.RESULT_OUT:
        return sum(_width(other, schedule) for other in _lanes(schedule))
    return engine.lane


def _lanes(schedule: Schedule) -> list[Engine]:
    return [engine for engine in schedule.engines.values() if engine.stage is Stage.MEMORY_OUT]


def _width(engine: Engine, schedule: Schedule) -> int:
    """How many of a memory tile's out-channels a lane takes: one per row that it serves, or one for all."""
    if "row" not in engine.span:
        return 1
    return schedule.extents["part" if engine.span == ("row",) else "row"]
