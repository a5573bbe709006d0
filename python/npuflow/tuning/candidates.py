"""What is timed of a group: the best strategies by the estimate, each said so that nothing of it is left to choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from npuflow.strategy.group import Group
from npuflow.strategy.mapping import Mapping, mapping_of, strategy_of
from npuflow.strategy.search import Search
from npuflow.strategy.space import Array, space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device
from npuflow.tuning.subjects import TunableGroup

# Branch and bound takes no more steps: some seconds.
_MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class RankedStrategy:
    """A whole strategy, and what the estimate makes of it: seconds, and what searches make small."""

    strategy: Strategy
    estimated_seconds: float
    cost: float


@dataclass(frozen=True)
class Candidates:
    """The strategies of a group, on a part of the array where one is said; nothing is looked for until it is asked."""

    tuned: TunableGroup
    device: Device
    array: Array | None

    def ranked(self, count: int) -> tuple[list[RankedStrategy], str]:
        """So many of the best by the estimate, of which half are unlike each other; and what is proved of the first."""
        found, proofs = [], []
        for search in self._searches:
            result = search.best(count, most_steps=_MOST_STEPS)
            found.append(self._ranked(search, [one.mapping for one in result.best]))
            how = "proved by" if result.is_proved else "not proved after"
            proofs.append(f"the estimate's best, {how} looking at {result.looked_at} mappings, is among them")
        return _unlike(_merged(found), count), proofs[0]

    def beside(self, strategies: Sequence[Strategy]) -> list[RankedStrategy]:
        """All that differs from one of these in one thing, the best by the estimate first."""
        found = []
        for strategy in strategies:
            search = self._searches[-1 if strategy.gather else 0]
            mapping = self._mapping(search, strategy)
            found.append(self._ranked(search, search.beside(mapping)))
        return _merged(found)

    @cached_property
    def _searches(self) -> tuple[Search, ...]:
        """One of the group, and one of its windows gathered."""
        group, given = self.tuned.group, self.tuned.given
        ways = [group] if not given.gather else []
        if given.gather != 0 and (gathered := group.with_gather()) is not None:
            ways.append(gathered)
        device, array, whole_k = self.device, self.array, self.tuned.whole_k
        spaces = (space_of(way, given, device, whole_k=whole_k, array=array) for way in ways or [group])
        return tuple(Search(space, device) for space in spaces)

    def _mapping(self, search: Search, strategy: Strategy) -> Mapping:
        """The mapping that a search would have for a strategy, which leaves out pieces in L2 that are those in L1."""
        space = search.space
        found = mapping_of(space.group, strategy, whole_k=self.tuned.whole_k)
        if found.in_l2 or not space.opens_l2:
            return found
        return replace(found, in_l2=tuple(found.tiles[loop] for loop in space.group.streamed))

    def _ranked(self, search: Search, mappings: Sequence[Mapping]) -> list[RankedStrategy]:
        group, given = search.space.group, self.tuned.given
        return [
            RankedStrategy(whole_strategy(group, one, given), parts.seconds, parts.cost)
            for one, parts in ((one, search.estimate.parts(one)) for one in mappings)
        ]


def whole_strategy(group: Group, mapping: Mapping, given: Strategy) -> Strategy:
    """A mapping as a strategy that leaves nothing to be chosen, what is usual included."""
    return stated(strategy_of(group, mapping, given), is_matmul=group.packed)


def stated(strategy: Strategy, *, is_matmul: bool) -> Strategy:
    """The strategy with every field that a later choice would fill in."""
    result = strategy.depth_result or 1
    if is_matmul:
        return replace(strategy, depth_result=result, depth_tail=strategy.depth_tail or 1)
    return replace(strategy, depth_result=result, gather=strategy.gather or 0, hold=strategy.hold or 0)


def _merged(found: Iterable[Sequence[RankedStrategy]]) -> list[RankedStrategy]:
    """All of them, each once, the best first."""
    best: dict[Strategy, RankedStrategy] = {}
    for one in (each for some in found for each in some):
        if one.strategy not in best or one.cost < best[one.strategy].cost:
            best[one.strategy] = one
    return sorted(best.values(), key=lambda one: (one.cost, str(one.strategy)))


def _unlike(ranked: Sequence[RankedStrategy], count: int) -> list[RankedStrategy]:
    """So many of them, in order: the best, and as many that are the best of their kind.

    Estimates err alike for what is alike, so that what differs in slots or pieces alone says little about the rest.
    """
    firsts: dict[object, RankedStrategy] = {}
    for one in ranked:
        firsts.setdefault(_kind(one.strategy), one)
    kept = dict.fromkeys(list(firsts.values())[: -(-count // 2)])
    for one in ranked:
        if len(kept) >= count:
            break
        kept.setdefault(one)
    return sorted(kept, key=lambda one: (one.cost, str(one.strategy)))


def _kind(strategy: Strategy) -> object:
    """What candidates differ in that are unlike: cores, what these follow, and the tile of a core."""
    return strategy.grid, strategy.turned, strategy.spread, strategy.tile_l1, strategy.gather, strategy.hold
