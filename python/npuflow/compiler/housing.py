"""Tensors in their homes, phase by phase: how long that takes, and other homes for them as long as that takes less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from math import inf
from typing import TypeAlias

from npuflow.compiler.home_phases import HomePhases, HomeSlabs, LatePhase
from npuflow.core.answers import AsksAhead
from npuflow.network.residency import Home, HomeCandidate, home_beside

# What other homes have to gain.
_LEAST_SECONDS = 1e-8
# Of a tensor that has no home, and of each one that is in its way, the ways that are tried together.
_MOST_TOGETHER = 3
# Questions that are asked side by side: fewer take less time than processes for them.
_LEAST_ASKED = 8


@dataclass(frozen=True)
class TensorHome:
    """The way in which a tensor stays, and where."""

    way: HomeCandidate
    home: Home

    @cached_property
    def slabs(self) -> HomeSlabs:
        one, columns = self.way, tuple(slab.column for slab in self.home.slabs)
        if not one.brought:
            return HomeSlabs(columns, self.home.piece_bytes, self.home.in_place, spread=self.home.spread)
        return HomeSlabs(columns, self.home.piece_bytes, self.home.in_place, one.first, frozenset(one.reads))


# The tensors that have a home, by number.
Housing: TypeAlias = Mapping[int, TensorHome]


@dataclass
class HomeSearch:
    """`ways` are those in which tensors may stay, `more` finds others; `reasons` say why some don't in the end.

    Ways were chosen by what each wins alone. A phase wins more where clusters have all that it reads and makes, and
    less where tensors get in each other's way, or can't be there together at all.
    """

    phases: HomePhases
    ways: Mapping[int, list[HomeCandidate]]
    more: Mapping[int, Iterator[list[HomeCandidate]]]
    ahead: AsksAhead
    reasons: dict[int, str] = field(default_factory=dict)

    def own(self, phase: int, housed: Housing) -> dict[int, HomeSlabs]:
        """The tensors at home that a phase has to do with."""
        numbers = (n for n in self._moved_in.get(phase, ()) if n in housed)
        return {n: housed[n].slabs for n in numbers if phase in self._phases_with(n, housed[n].way)}

    @cached_property
    def _moved_in(self) -> Mapping[int, Sequence[int]]:
        """The tensors that each phase moves, in order."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, phases in sorted(self.phases.moving.items()):
            for phase in phases:
                found[phase].append(number)
        return found

    def _phases_with(self, number: int, way: HomeCandidate) -> Collection[int]:
        """The phases that have to do with a tensor's home."""
        return (way.first, *way.reads) if way.brought else self._phases_of(number)

    def late(self, phase: int, housed: Housing) -> LatePhase | str:
        """By how much longer a phase runs, or why it can't have all that together."""
        return self.phases.late_with(phase, self.own(phase, housed))

    def feasible(self, housed: Housing) -> dict[int, TensorHome]:
        """Where a phase can't have all its tensors at home together, one of them is elsewhere, or nowhere."""
        found, phases = dict(housed), range(len(self.phases.calls.calls))
        self._ask(housed, [housed])
        for phase in phases:
            found = self._running(phase, found)
        # One that is elsewhere may be in the way in an earlier phase.
        while failing := [phase for phase in phases if isinstance(self.late(phase, found), str)]:
            found = self._running(failing[0], found, may_move=False)
        return found

    def _running(self, phase: int, housed: dict[int, TensorHome], *, may_move: bool = True) -> dict[int, TensorHome]:
        """What a phase can have of what is at home, at least cost."""
        while isinstance(why := self.late(phase, housed), str):
            own = self.own(phase, housed)
            fewer = [{each: one for each, one in housed.items() if each != number} for number in own]
            moved = chain.from_iterable(self._otherwise(number, housed) for number in own) if may_move else ()
            changed = [*moved, *fewer]
            run = [one for one in changed if not isinstance(self.late(phase, one), str)] or fewer
            self._ask(own, run)
            best = min(run, key=lambda one: self._cost(own, one, phase))
            self.reasons.update({number: f"together with others: {why}" for number in own if number not in best})
            housed = best
        return housed

    def _otherwise(self, number: int, housed: Housing) -> Iterator[dict[int, TensorHome]]:
        """A tensor in each way that it hasn't now and that others leave room for; what is brought has no other."""
        if number in housed and housed[number].way.brought:
            return
        others = {each: one for each, one in housed.items() if each != number}
        beside = {one.way: one.home for one in others.values()}
        for way in self.ways[number]:
            if not way.brought and (number not in housed or way != housed[number].way):
                home = home_beside(way, beside, self.phases.room)
                if home is not None:
                    yield {**others, number: TensorHome(way, home)}

    def improved(self, housed: Housing) -> dict[int, TensorHome]:
        """Other homes for tensors, and for those that have none, as long as phases take less time with them."""
        found, waiting = dict(housed), [*self.ways]
        while waiting:
            number = waiting.pop(0)
            better = self._better(number, self._otherwise(number, found), found)
            if better is None and number not in found:
                better = self._better(number, self._in_place_of_others(number, found), found)
            if better is not None:
                self.reasons.update(
                    {each: f"%{number} has its place, which wins more" for each in found if each not in better}
                )
                found = better
                waiting += sorted({*self._near(number, self.ways)} - {number, *waiting})
        return found

    def _in_place_of_others(self, number: int, housed: Housing) -> Iterator[dict[int, TensorHome]]:
        """A tensor that has no home, with one that is in its way elsewhere, or nowhere."""
        near = self._in_its_way(number, housed)
        for each in (number, *near):
            self._look_for_more(each)
        for other in near:
            rest = {each: one for each, one in housed.items() if each != other}
            beside = {one.way: one.home for one in rest.values()}
            tried = ((way, home_beside(way, beside, self.phases.room)) for way in self.ways[number] if not way.brought)
            placed = [TensorHome(way, home) for way, home in tried if home is not None]
            for one in placed[:_MOST_TOGETHER]:
                alone = {**rest, number: one}
                yield alone
                yield from list(self._otherwise(other, alone))[:_MOST_TOGETHER]

    def looked_for(self, housed: Housing) -> frozenset[int]:
        """The tensors that other ways are looked for where those without a home have none that is free."""
        alone = [number for number in self.ways if number not in housed]
        return frozenset(each for number in alone for each in (number, *self._in_its_way(number, housed)))

    def _in_its_way(self, number: int, housed: Housing) -> list[int]:
        """The tensors at home that phases move which move one, but for what is brought."""
        return self._near(number, [each for each, one in housed.items() if not one.way.brought])

    def _look_for_more(self, number: int) -> None:
        self.ways[number] += [way for found in self.more[number] for way in found]

    def _better(
        self, number: int, tried: Iterable[dict[int, TensorHome]], housed: Housing
    ) -> dict[int, TensorHome] | None:
        """The best of some housings, if that takes less time than what is."""
        found = list(tried)
        if not found:
            return None
        numbers = {number, *(each for one in found for each in {*housed} ^ {*one})}
        self._ask(numbers, found)
        best = min(found, key=lambda one: self._cost(numbers, one))
        return best if self._cost(numbers, best) < self._cost(numbers, housed) - _LEAST_SECONDS else None

    def _ask(self, numbers: Collection[int], housings: Sequence[Housing]) -> None:
        """Asks ahead how long phases take, each once that isn't known."""
        phases = {phase for number in numbers for phase in self._phases_of(number)}
        unknown = {}
        for phase, housed in ((phase, housed) for housed in housings for phase in phases):
            question = self.phases.question(phase, self.own(phase, housed))
            if question not in self.phases.late.questions:
                unknown[question] = partial(self.late, phase, housed)
        if len(unknown) >= _LEAST_ASKED:
            self.ahead.ask([*unknown.values()], self.phases.answers)

    def _cost(self, numbers: Iterable[int], housed: Housing, until: int | None = None) -> float:
        """How much longer it takes that some tensors are as they are, less what DRAM needn't move for others' sake.

        A phase that can't have all that together takes infinitely long; behind `until` it counts as if it had nothing.
        """
        saved = sum(housed[number].way.saved_bytes for number in numbers if number in housed)
        cost = -saved * self.phases.room.byte_seconds
        for phase in sorted({phase for number in numbers for phase in self._phases_of(number)}):
            late = self.late(phase, housed)
            if isinstance(late, LatePhase):
                cost += late.seconds + self.phases.sent_seconds(phase, late.chains)
            elif until is None or phase <= until:
                return inf
        return cost

    def _near(self, number: int, others: Iterable[int]) -> list[int]:
        """Those that phases move which move a tensor."""
        phases = self._phases_of(number)
        return [each for each in others if not phases.isdisjoint(self._phases_of(each))]

    def _phases_of(self, number: int) -> frozenset[int]:
        return self.phases.moving[number]
