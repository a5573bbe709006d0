"""The ways through a machine: stages of work, each beside the memories of a level, joined by hops.

A stage is an end of a hop, an engine that runs kernels, or the control processor. Schedules name them; what must be
known of one to schedule, check or time it stands here, made from a device's tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from npuflow.errors import InputError, with_hint
from npuflow.target.model import ComputeEngine, DmaEngine, Hop, KernelClass, MemoryLevel, Runs, SharedBy

_REACH = (SharedBy.CORE, SharedBy.COLUMN, SharedBy.ARRAY)


class Work(Enum):
    """What an engine does: it sends out of its memory, receives into it, computes, or sets others to work."""

    SEND = "send"
    RECEIVE = "receive"
    COMPUTE = "compute"
    CONTROL = "control"


@dataclass(frozen=True)
class Place:
    """What engines of a level stand beside: its name in messages, and what has one."""

    level: int
    name: str
    shared_by: SharedBy


@dataclass(frozen=True)
class Stage:
    """Where on its way through the machine a piece of work is done; stages of one device differ in their names.

    Beside the same memories and moving the same way are the lanes of earlier hops, `first` of them. A stage that
    `spreads` may have a channel in a lane for each of the memories that it feeds, one that `gathers` has one for each
    that feeds it. Where `at_dram`, the control processor sets descriptors up, task by task; elsewhere they are written
    once.
    """

    name: str
    work: Work = field(compare=False)
    order: int = field(compare=False)
    place: Place | None = field(compare=False, default=None)
    lanes: int = field(compare=False, default=1)
    first: int = field(compare=False, default=0)
    spreads: bool = field(compare=False, default=False)
    gathers: bool = field(compare=False, default=False)
    at_dram: bool = field(compare=False, default=False)
    runs: Runs | None = field(compare=False, default=None)

    @property
    def is_channel(self) -> bool:
        return self.work in (Work.SEND, Work.RECEIVE)

    @property
    def level(self) -> int | None:
        """The level of the memories that it stands beside; None for the control processor."""
        return None if self.place is None else self.place.level

    @property
    def is_single(self) -> bool:
        """Whether it has no lanes to choose from, so that its name says all."""
        return self.lanes == 1


@dataclass(frozen=True)
class Ways:
    """The stages of a device in the order of the way in and out again; `ends` has those of each hop."""

    stages: Mapping[str, Stage]
    ends: Mapping[tuple[int, int], tuple[Stage, Stage]]
    places: Mapping[int, Place]

    @property
    def control(self) -> Stage:
        return next(stage for stage in self.stages.values() if stage.work is Work.CONTROL)

    @property
    def computing(self) -> tuple[Stage, ...]:
        """Everything that runs kernels."""
        return tuple(stage for stage in self.stages.values() if stage.work is Work.COMPUTE)

    def runner(self, kernels: KernelClass) -> Stage:
        """The first that runs kernels of a class."""
        return next(stage for stage in self.computing if stage.runs is not None and stage.runs.includes(kernels))

    def has_hop(self, from_level: int, to_level: int) -> bool:
        return (from_level, to_level) in self.ends

    def hop(self, from_level: int, to_level: int) -> tuple[Stage, Stage]:
        """The sending and the receiving stage between two levels."""
        if (from_level, to_level) in self.ends:
            return self.ends[from_level, to_level]
        what = f"no engine moves data from level {from_level} to level {to_level}"
        known = ", ".join(f"{source} to {target}" for source, target in self.ends)
        raise InputError(with_hint(what, f"hops of the device: {known or 'none'}"))

    def levels_of(self, receiver: Stage) -> tuple[int, int]:
        """The levels that the hop to a receiver joins, where it begins first."""
        return next(levels for levels, (_, stage) in self.ends.items() if stage == receiver)


def ways_of(
    levels: Sequence[MemoryLevel], dmas: Iterable[DmaEngine], engines: Iterable[ComputeEngine], hops: Sequence[Hop]
) -> Ways:
    """The ways that a device's tables describe; hops in the order in which data goes in and out again."""
    places = {dma.level: Place(dma.level, dma.place, dma.shared_by) for dma in dmas}
    dram = max(level.number for level in levels)
    inward = [hop for hop in hops if hop.from_level > hop.to_level]
    outward = [hop for hop in hops if hop.from_level < hop.to_level]
    stages: list[Stage] = []
    ends: dict[tuple[int, int], tuple[Stage, Stage]] = {}

    def add_hop(hop: Hop) -> None:
        earlier = hops[: hops.index(hop)]
        into = sum(other.lanes for other in earlier if other.to_level == hop.to_level)
        out = sum(other.lanes for other in earlier if other.from_level == hop.from_level)
        source, target = places.get(hop.from_level), places.get(hop.to_level)
        reach = [_REACH.index(place.shared_by) if place else 0 for place in (source, target)]
        for name, work, place, first in (
            (hop.sender, Work.SEND, source, out),
            (hop.receiver, Work.RECEIVE, target, into),
        ):
            stages.append(
                Stage(
                    name,
                    work,
                    len(stages),
                    place,
                    hop.lanes,
                    first,
                    spreads=work is Work.SEND and reach[0] > reach[1],
                    gathers=work is Work.RECEIVE and reach[0] < reach[1],
                    at_dram=place is not None and place.level == dram,
                )
            )
        ends[hop.levels] = (stages[-2], stages[-1])

    for hop in inward:
        add_hop(hop)
    stages += (
        Stage(engine.name, Work.COMPUTE, len(stages) + number, places.get(engine.level), runs=engine.runs)
        for number, engine in enumerate(engines)
    )
    for hop in outward:
        add_hop(hop)
    stages.append(Stage("control", Work.CONTROL, len(stages)))
    return Ways({stage.name: stage for stage in stages}, ends, places)
