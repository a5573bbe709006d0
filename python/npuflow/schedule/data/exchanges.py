"""What a schedule's engines take from each other and give: units of semaphores, bytes of streams. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from npuflow.schedule.data import model
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Coordinates, Schedule
from npuflow.schedule.data.placed import placed_steps
from npuflow.schedule.data.points import PlacedLeaf, Point, leaves


@dataclass(frozen=True)
class Reach:
    """How the engines of a kind touch like things: so many touch each, so often at once; or each its own, `here`."""

    engines: int
    times: int
    here: bool


@dataclass(frozen=True)
class Touch:
    """A step that takes from or gives to a semaphore or a stream, in units of it."""

    leaf: PlacedLeaf
    reach: Reach
    units: int

    @property
    def total(self) -> int:
        """The units that one engine takes or gives of each thing in a whole run."""
        return self.leaf.total * self.units * self.reach.times

    def done(self, point: Point, *, of_all: bool = False) -> int:
        """The units up to a point, of one of the things that the engine touches there, or at least so many `of_all`."""
        count = point.done(self.leaf)
        if self.leaf.shares(point.within) and (of_all or self.reach.times > 1):
            count -= point.index > self.leaf.index
        return count * self.units * self.reach.times

    def done_at_most(self, point: Point) -> int:
        """The units up to a point, loops over coordinates being over."""
        return point.done(self.leaf) * self.units * self.reach.times


# By semaphore or stream, the steps of each kind of engine.
Table = Mapping[str, Mapping[str, list[Touch]]]


@dataclass(frozen=True)
class Exchanges:
    """Who takes and gives what, without what some of like engines do differently from others."""

    leaves: Mapping[str, tuple[PlacedLeaf, ...]]
    taken: Table
    given: Table

    @staticmethod
    def of(schedule: Schedule) -> Exchanges:
        its = {engine.name: leaves(engine) for engine in schedule.engines.values()}
        unsure = {name for name in schedule.streams if not _is_cut_alike(name, schedule, its)}
        unsure |= _perhaps_empty(schedule)
        tables: tuple[dict[str, dict[str, list[Touch]]], ...] = ({}, {})
        for engine in schedule.engines.values():
            for leaf, ref, span in _exchanging(its[engine.name], schedule):
                through = tuple(coordinate for _, coordinate in leaf.each)
                reach = _reach(engine.span, through, ref.at, span, tuple(schedule.extents.items()))
                if reach is None:
                    unsure.add(ref.name)
                    continue
                table = tables[isinstance(leaf.step, (model.Release, model.Send))]
                touch = Touch(leaf, reach, _units(leaf.step, schedule))
                table.setdefault(ref.name, {}).setdefault(engine.name, []).append(touch)
        taken, given = ({name: users for name, users in table.items() if name not in unsure} for table in tables)
        return Exchanges(its, taken, given)


def _exchanging(its: tuple[PlacedLeaf, ...], schedule: Schedule) -> Iterator[tuple[PlacedLeaf, model.Ref, Coordinates]]:
    """The steps that take or give, with what and which coordinates that has."""
    for leaf in its:
        if isinstance(leaf.step, (model.Acquire, model.Release)):
            yield leaf, leaf.step.semaphore, schedule.semaphores[leaf.step.semaphore.name].span
        elif isinstance(leaf.step, (model.Send, model.Receive)):
            yield leaf, leaf.step.stream, schedule.streams[leaf.step.stream.name].span


def _units(step: model.Step, schedule: Schedule) -> int:
    """How much is taken or given each time: of a stream bytes, whether or not limits cut some off."""
    if not isinstance(step, (model.Send, model.Receive)):
        return 1
    return prod(step.access.sizes) * schedule.buffers[step.access.buffer.name].element_bytes


def _perhaps_empty(schedule: Schedule) -> set[str]:
    """Streams with transfers of which limits may leave nothing: who receives nothing waits for nobody."""
    found: set[str] = set()
    for engine in schedule.engines.values():
        for placed in placed_steps(engine, schedule.extents):
            step = placed.step
            if isinstance(step, (model.Send, model.Receive)) and not step.access.zeros:
                bounds = (limit.bound.minimum(placed.ranges) for limit in step.access.limits)
                if any(bound <= 0 for bound in bounds):
                    found.add(step.stream.name)
    return found


@dataclass(frozen=True)
class _Moves:
    """How much a transfer moves each time, if limits don't cut it off, and how often."""

    most_bytes: int
    limits: tuple[model.Limit, ...]
    trips: tuple[int, ...]


def _is_cut_alike(stream: str, schedule: Schedule, its: Mapping[str, tuple[PlacedLeaf, ...]]) -> bool:
    """Whether bytes tell how far both ends are: what limits cut off, they cut off at both, step by step."""
    sent: list[_Moves] = []
    received: list[_Moves] = []
    for leaf in (leaf for engine in its.values() for leaf in engine):
        step = leaf.step
        if isinstance(step, (model.Send, model.Receive)) and step.stream.name == stream:
            limits = () if step.access.zeros else step.access.limits
            cut = _Moves(_units(step, schedule), limits, tuple(trips for _, trips in leaf.loops))
            (sent if isinstance(step, model.Send) else received).append(cut)
    return sent == received or not any(cut.limits for cut in (*sent, *received))


@lru_cache(maxsize=1024)
def _reach(
    span: Coordinates,
    through: Coordinates,
    at: tuple[Affine, ...],
    things: Coordinates,
    extents: tuple[tuple[str, int], ...],
) -> Reach | None:
    """How engines of a span touch like things, going through coordinates; None if some differ from others."""
    if len({*span, *through}) < len(span) + len(through):
        return None
    schedule = Schedule("", dict(extents))
    pairs: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for one in schedule.places((*span, *through)):
        thing = tuple(i.constant + sum(c * one.get(name, 0) for name, c in i.terms) for i in at)
        pairs[tuple(one[name] for name in span), thing] += 1
    engines = Counter(thing for _, thing in pairs)
    every = {tuple(one[name] for name in things) for one in schedule.places(things)}
    if set(engines) != every or len(set(engines.values())) > 1 or len(set(pairs.values())) > 1:
        return None
    here = span == things and not through and at == tuple(map(Affine.counter, span))
    return Reach(next(iter(engines.values())), next(iter(pairs.values())), here)
