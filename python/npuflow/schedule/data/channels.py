"""Which DMA channel of which memory each engine is: one mapping for checks and for the simulator. Pure.

Channels out of a memory begin with those of lane 0, then lane 1's, then the next hop's; channels into it with the lanes
of the first hop, then the next one's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from npuflow.schedule.data.model import Coordinates, Engine, Schedule
from npuflow.target import Place, SharedBy, Work

At = Mapping[str, int]


@dataclass(frozen=True)
class Memory:
    """One memory of a level; outside the cores the row is 0, and of what all share the column as well."""

    level: int
    row: int
    column: int
    place: Place = field(compare=False)

    def __str__(self) -> str:
        if self.place.shared_by is SharedBy.CORE:
            return f"{self.place.name} ({self.row},{self.column})"
        return f"{self.place.name} {self.column}" if self.place.shared_by is SharedBy.COLUMN else self.place.name


@dataclass(frozen=True)
class Channel:
    """One channel of the DMA engine beside a memory."""

    memory: Memory
    inward: bool
    number: int

    def __str__(self) -> str:
        return f"{'in' if self.inward else 'out'}-channel {self.number} of {self.memory}"


def column_of(at: At, schedule: Schedule) -> int:
    """The column whose memories serve a place."""
    if "tile" in at:
        return at["tile"]
    return at["column"] if "column" in at else at.get("row", 0) % schedule.extents["tile"]


def memory_of(engine: Engine, at: At, schedule: Schedule) -> Memory | None:
    """The memory that an engine stands beside; None for the control processor."""
    return None if engine.stage.place is None else memory_at(engine.stage.place, at, schedule)


def memory_at(place: Place, at: At, schedule: Schedule) -> Memory:
    """The memory of a level that serves what has these coordinates."""
    row = at.get("row", 0) if place.shared_by is SharedBy.CORE else 0
    column = 0 if place.shared_by is SharedBy.ARRAY else column_of(at, schedule)
    return Memory(place.level, row, column, place)


def coordinates_of_memory(engine: Engine, schedule: Schedule) -> frozenset[str]:
    """Those of an engine's coordinates that say which memory it is beside, and nothing else."""
    place, span = engine.stage.place, engine.span
    if place is None or place.shared_by is SharedBy.ARRAY:
        return frozenset()
    named: str | None = next((name for name in ("tile", "column") if name in span), None)
    if named is None and schedule.extents.get("row", 0) <= schedule.extents["tile"]:
        named = "row"
    rows = {"row"} if place.shared_by is SharedBy.CORE else set[str]()
    return frozenset(rows | ({named} if named else set())) & set(span)


def channel_of(engine: Engine, at: At, schedule: Schedule) -> Channel | None:
    """The channel that an engine is, by its assigned number; None for what computes, and the control processor."""
    memory = memory_of(engine, at, schedule)
    if memory is None or not engine.stage.is_channel:
        return None
    number = numbers_beside(engine, schedule)[_key(engine.span, at)]
    return Channel(memory, engine.stage.work is Work.RECEIVE, engine.channels[number])


def numbers_beside(engine: Engine, schedule: Schedule) -> Mapping[tuple[int, ...], int]:
    """Of each place of a channel: its number among those of its kind beside its memory, from 0 on."""
    assert engine.stage.place is not None, "the control processor is no channel"
    return _numbers_beside(engine.span, engine.stage.place, tuple(schedule.extents.items()))


@lru_cache(maxsize=256)
def _numbers_beside(
    span: Coordinates, place: Place, extents: tuple[tuple[str, int], ...]
) -> Mapping[tuple[int, ...], int]:
    schedule, numbers = Schedule("", dict(extents)), {}
    seen: dict[Memory, int] = defaultdict(int)
    for at in schedule.places(span):
        if _key(span, at) in numbers:
            continue
        memory = memory_at(place, at, schedule)
        numbers[_key(span, at)] = seen[memory]
        seen[memory] += 1
    return numbers


def _key(span: Coordinates, at: At) -> tuple[int, ...]:
    return tuple(at[name] for name in span)


def count_beside(engine: Engine, schedule: Schedule) -> int:
    """How many of its kind are beside one memory."""
    return 1 + max(numbers_beside(engine, schedule).values())


def usual_channels(engine: Engine, schedule: Schedule) -> tuple[int, ...]:
    """The numbers of an engine's channels beside one memory, where nothing else is said."""
    stage = engine.stage
    first = stage.first + engine.lane if stage.work is Work.RECEIVE else _first_out(engine, schedule)
    steps = stage.spreads or stage.gathers
    return tuple(first + (number if steps else 0) for number in range(count_beside(engine, schedule)))


def _first_out(engine: Engine, schedule: Schedule) -> int:
    """Behind all channels of earlier hops, and of lower lanes where these may have several."""
    stage, before = engine.stage, 0
    for other in schedule.engines.values():
        its = other.stage
        if its.work is Work.SEND and its.level == stage.level:
            lower_lane = its == stage and stage.spreads and other.lane < engine.lane
            if its.order < stage.order or lower_lane:
                before += count_beside(other, schedule) if its.spreads else 1
    return before if stage.spreads else before + engine.lane
