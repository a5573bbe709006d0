"""Which buffers a schedule is done with before it begins to use others, whatever its engines' speeds. Pure.

Who has acquired more of a semaphore than there was at first has waited for those who released the rest; who receives,
for the sender. So how far one engine has come says how far others must have come, these say it of others again, and a
buffer is free when all that use it are past their last use. Engines, semaphores and streams are taken by their kinds:
of an engine that waits it is asked how far *some* engine of another kind, the one *here* beside the same memory, or,
once that led to an engine that there is one of, *all* of the kind are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

from npuflow.schedule.data import model
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.exchanges import Exchanges, Touch
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.points import PlacedLeaf, Point, behind, earliest, first, last

# How many times one engine may tell of another: far more than schedules of ours take; what takes more is not known.
_MOST_STEPS = 10_000


class _Who(IntEnum):
    """Which engines of a kind something is known of."""

    SOME = 0
    HERE = 1
    ALL = 2


@dataclass
class Order:
    """What is known of a schedule's order; found when it is asked for."""

    schedule: Schedule
    _known: dict[tuple[str, int, bool], dict[tuple[str, _Who], Point]] = field(default_factory=dict)
    _over: dict[tuple[str, str], bool] = field(default_factory=dict)

    @cached_property
    def _exchanges(self) -> Exchanges:
        return Exchanges.of(self.schedule)

    def is_ordered(self, one: str, other: str) -> bool:
        """Whether one of two buffers is done with before the other is used, so that they can lie in one place."""
        for pair in ((one, other), (other, one)):
            if pair not in self._over:
                self._over[pair] = self.is_over(*pair)
        return self._over[one, other] or self._over[other, one]

    def is_over(self, one: str, other: str) -> bool:
        """Whether every use of one buffer is over before the first use of the other, where they are in one memory."""
        begins = self._users[other]
        return bool(begins) and all(self._is_over_for(one, other, engine, steps[0]) for engine, steps in begins)

    def _is_over_for(self, one: str, other: str, engine: model.Engine, begin: PlacedLeaf) -> bool:
        here = self._is_here(engine, begin, other) and self.schedule.buffers[one].span == engine.span
        known = self._knowledge(engine, begin, here=here)
        for user, steps in self._users[one]:
            end = last(steps[-1])
            points = [known.get((user.name, _Who.ALL))]
            if here and all(self._is_here(user, step, one) for step in steps):
                points.append(known.get((user.name, _Who.HERE)))
            if not any(p and not p.is_before(end) and not steps[-1].shares(p.within) for p in points):
                return False
        return True

    @cached_property
    def _users(self) -> Mapping[str, list[tuple[model.Engine, list[PlacedLeaf]]]]:
        """The kinds of engines that use each buffer, with their steps that do."""
        found: dict[str, list[tuple[model.Engine, list[PlacedLeaf]]]] = {name: [] for name in self.schedule.buffers}
        for engine in self.schedule.engines.values():
            steps: dict[str, list[PlacedLeaf]] = {}
            for leaf in self._exchanges.leaves[engine.name]:
                for buffer in _refs(leaf.step):
                    steps.setdefault(buffer, []).append(leaf)
            for buffer, its in steps.items():
                found[buffer].append((engine, its))
        return found

    def _is_here(self, engine: model.Engine, leaf: PlacedLeaf, buffer: str) -> bool:
        """Whether each engine of the kind uses the buffer that has its own coordinates, and stands alone beside it."""
        span = self.schedule.buffers[buffer].span
        own = tuple(map(Affine.counter, span))
        return engine.span == span and not leaf.each and set(_refs(leaf.step).get(buffer, ())) == {own}

    # What is known

    def _knowledge(self, engine: model.Engine, begin: PlacedLeaf, *, here: bool) -> dict[tuple[str, _Who], Point]:
        """How far which engines are when one of a kind comes to a step for the first time."""
        key = (engine.name, begin.index, here)
        if key not in self._known:
            self._known[key] = self._asked(engine, begin, here=here)
        return self._known[key]

    def _asked(self, engine: model.Engine, begin: PlacedLeaf, *, here: bool) -> dict[tuple[str, _Who], Point]:
        known: dict[tuple[str, _Who], Point] = {}
        start = (engine.name, self._who(engine.name, _Who.HERE if here else _Who.SOME), first(begin))
        waiting = [start]
        if isinstance(begin.step, model.Receive):
            waiting += self._told_by(begin.step.stream.name, *start, begun=1)
        for _ in range(_MOST_STEPS):
            if not waiting:
                break
            name, who, point = waiting.pop()
            old = known.get((name, who))
            if old is None or old.is_before(point):
                known[name, who] = point
                things = (thing for thing, takers in self._exchanges.taken.items() if name in takers)
                waiting += [news for thing in things for news in self._told_by(thing, name, who, point)]
        return known

    def _who(self, name: str, who: _Who) -> _Who:
        """One engine of which there are no others is all of its kind."""
        is_alone = all(self.schedule.extents[coordinate] == 1 for coordinate in self.schedule.engines[name].span)
        return _Who.ALL if is_alone else who

    def _told_by(
        self, thing: str, taker: str, who: _Who, point: Point, begun: int = 0
    ) -> Iterator[tuple[str, _Who, Point]]:
        """How far those must be who gave what an engine has taken, or has `begun` to receive."""
        touches, givers = self._exchanges.taken.get(thing, {}).get(taker, []), self._exchanges.given.get(thing, {})
        if thing in self.schedule.streams:
            least = sum(touch.done(point, of_all=who is _Who.ALL) for touch in touches) + begun
        elif any(touch.reach.engines > 1 for touch in touches):
            return
        else:
            least = max(self._got(thing, taker, who, at) for at in _so_far(point, touches))
        for giver, its in givers.items():
            alike = max(touch.reach.engines for touch in its) - 1
            if giver == taker or (alike and who is not _Who.ALL):
                continue
            others = sum(_most(given) for name, given in givers.items() if name not in (giver, taker))
            news = _reached(its, least - others - alike * sum(touch.total for touch in its))
            if news is not None:
                reached, leaf = news
                within = frozenset(number for number, _ in leaf.each) if who is not _Who.ALL else frozenset[int]()
                is_here = who is _Who.HERE and all(touch.reach.here for touch in (*its, *touches))
                whose = self._who(giver, who if who is _Who.ALL or is_here else _Who.SOME)
                yield giver, whose, Point(reached.turns, leaf.index if begun else reached.index, within)

    def _got(self, thing: str, taker: str, who: _Who, point: Point) -> int:
        """How much of a semaphore an engine must have from others at a point."""
        touches, own = self._exchanges.taken[thing][taker], self._exchanges.given.get(thing, {}).get(taker, [])
        if self._who(taker, who) is _Who.ALL or all(touch.reach.here for touch in (*own, *touches)):
            given = sum(touch.done_at_most(point) for touch in own)
        else:
            given = _most(own)
        return (
            sum(touch.done(point, of_all=who is _Who.ALL) for touch in touches)
            - given
            - self.schedule.semaphores[thing].initial
        )


def _most(touches: Sequence[Touch]) -> int:
    """What all engines of a kind give together."""
    return sum(touch.total * touch.reach.engines for touch in touches)


def _so_far(point: Point, touches: Sequence[Touch]) -> Iterator[Point]:
    """A point, and where an engine came by that had just taken something, which it may have given back since."""
    yield point
    for leaf in (touch.leaf for touch in touches):
        turns = point.done(leaf) - leaf.shares(point.within)
        if turns > 0:
            yield behind(leaf, turns - 1)


def _reached(touches: Sequence[Touch], units: int) -> tuple[Point, PlacedLeaf] | None:
    """Behind which step so many units were given; None if that is no news."""
    found: tuple[Point, PlacedLeaf] | None = None
    for touch in touches if units > 0 else ():
        point = earliest(touch.leaf, lambda at: sum(other.done(at) for other in touches) >= units)
        if point is not None and (found is None or point.is_before(found[0])):
            found = (point, touch.leaf)
    return found


def _refs(step: model.Step) -> dict[str, list[tuple[Affine, ...]]]:
    """The buffers of a step, and where among like ones."""
    found: dict[str, list[tuple[Affine, ...]]] = {}
    accesses = [step.access] if isinstance(step, (model.Send, model.Receive)) else []
    accesses += [operand.access for operand in step.operands] if isinstance(step, model.Compute) else []
    for access in accesses:
        found.setdefault(access.buffer.name, []).append(access.buffer.at)
    return found
