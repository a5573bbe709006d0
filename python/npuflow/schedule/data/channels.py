"""Which DMA channel of which memory each engine is: one mapping for checks and for the simulator. Pure.

A memory tile's out-channels begin with those of lane 0, then lane 1's, then the results'; its in-channels with the two
lanes from L3, then one for each row's results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from npuflow.schedule.data.model import Coordinates, Engine, Schedule, Stage
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


def level_of(engine: Engine) -> int | None:
    """The level of the memories that engines stand beside; None for the control processor."""
    return _LEVELS.get(engine.stage)


def memory_of(engine: Engine, place: Place, schedule: Schedule) -> Memory | None:
    """The memory that an engine stands beside; None for the control processor."""
    level = level_of(engine)
    return None if level is None else memory_at(level, place, schedule)


def memory_at(level: int, place: Place, schedule: Schedule) -> Memory:
    """The memory of a level that serves a place."""
    return Memory(level, place.get("row", 0) if level == 1 else 0, column_of(place, schedule))


def is_channel(engine: Engine) -> bool:
    """Whether it is a channel of a DMA engine: not a core, nor the control processor."""
    return engine.stage not in (Stage.CORE, Stage.CONTROL)


def channel_of(engine: Engine, place: Place, schedule: Schedule) -> Channel | None:
    """The channel that an engine is, by its assigned number; None for cores and the control processor."""
    memory = memory_of(engine, place, schedule)
    if memory is None or not is_channel(engine):
        return None
    turn = turns_of(engine, schedule)[_key(engine.span, place)]
    return Channel(memory, engine.stage in _INWARD, engine.channels[turn])


def turns_of(engine: Engine, schedule: Schedule) -> Mapping[tuple[int, ...], int]:
    """Of each place of a channel: the how many-th it is of its kind beside its memory."""
    level = level_of(engine)
    assert level is not None, "the control processor is no channel"
    return _turns(engine.span, level, tuple(schedule.extents.items()))


@lru_cache(maxsize=256)
def _turns(span: Coordinates, level: int, extents: tuple[tuple[str, int], ...]) -> Mapping[tuple[int, ...], int]:
    schedule, turns = Schedule("", dict(extents)), {}
    seen: dict[Memory, int] = defaultdict(int)
    for place in schedule.places(span):
        if _key(span, place) in turns:
            continue
        memory = memory_at(level, place, schedule)
        turns[_key(span, place)] = seen[memory]
        seen[memory] += 1
    return turns


def _key(span: Coordinates, place: Place) -> tuple[int, ...]:
    return tuple(place[name] for name in span)


def usual_channels(engine: Engine, schedule: Schedule) -> tuple[int, ...]:
    """The numbers of an engine's channels beside one memory, where nothing else is said."""
    numbers: dict[int, int] = {}
    for at, turn in turns_of(engine, schedule).items():
        numbers.setdefault(turn, _number(engine, dict(zip(engine.span, at)), schedule))
    return tuple(numbers.values())


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
