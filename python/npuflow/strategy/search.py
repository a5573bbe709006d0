"""The best mappings of a group by the estimate. Pure.

The native core searches (`native/src/mapping_search.cpp`): good mappings by descent, from every spread's smallest tiles
on, and then by branch and bound over all tiles, pieces in L2, orders of blocks and slots, the lowest floors first. What
it may take is counted in steps, so that what is found depends on no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

from npuflow import _native
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.flat import SLOTS, flat_group, flat_mapping, flat_spread, mapping_from
from npuflow.strategy.mapping import Mapping, Spread
from npuflow.strategy.space import Space
from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

# Steps of branch and bound: about a microsecond each.
MOST_STEPS = 40_000
_MOST_STEPS_ALONE = 6_000  # on another spread
# So many mappings are played out, and of a matmul's other spreads the best of each: 20 to 300 us each. As many are
# looked at of a part of a function, so that what is asked of a group for its fusion answers that as well.
PLAYED = 128
# Other spreads' are played out, but not where all is shorter, nor on a part of the array: of 340 drawn matmuls that
# would change 26, and 12 of these are slower in the simulator, by up to 32 %.
_LONG_SECONDS = 1e-4


@dataclass(frozen=True)
class RankedMapping:
    """A mapping with what a search makes small: its cost, and somewhat more on a part of the array."""

    mapping: Mapping
    cost: float


@dataclass(frozen=True)
class PlayedMapping(RankedMapping):
    """What a mapping costs when its pipeline is played out as well; the same where nothing can be."""

    played_cost: float


@dataclass(frozen=True)
class SearchResult:
    """The best mappings, the best first.

    `is_proved` says that nothing else in the space costs less than these do, but for what was known before; `looked_at`
    are the mappings whose cost was found, `of_spreads` the best of these on each spread.
    """

    best: tuple[RankedMapping, ...]
    of_spreads: tuple[RankedMapping, ...]
    looked_at: int
    is_proved: bool


@dataclass(frozen=True)
class Search:
    """What is looked for, and where."""

    space: Space
    device: Device

    @cached_property
    def estimate(self) -> Estimate:
        return Estimate(self.space.group, self.device)

    def best(self, count: int = 1, *, below: float = inf, most_steps: int = MOST_STEPS) -> SearchResult:
        """So many of the best that fit and cost less than `below`."""
        *found, looked_at, is_proved = self.core.search(self.flat, count, below, most_steps)
        best, of_spreads = (
            tuple(RankedMapping(mapping_from(numbers, self.pack), cost) for cost, numbers in each) for each in found
        )
        return SearchResult(best, of_spreads, looked_at, is_proved)

    def played(self, count: int = 1, *, below: float = inf) -> tuple[PlayedMapping, ...]:
        """So many of the best at least, or as there are, those first that are best when they are played out."""
        if goes_around_l2(self.device):
            return self.estimated(count, below=below)
        found = self.best(max(count, PLAYED), below=below)
        played = self._played(found.best)
        if played and self.space.group.packed:
            for other in self._rivals(found, min(played, key=lambda one: one.played_cost)):
                alone = Search(self.space.on(other.mapping.spread), self.device)
                played += self._played(alone.best(PLAYED, most_steps=_MOST_STEPS_ALONE).best)
        return tuple(sorted(played, key=lambda one: one.played_cost))

    def estimated(self, count: int = 1, *, below: float = inf) -> tuple[PlayedMapping, ...]:
        """So many of the best, as if what is played out would take what is estimated."""
        return tuple(PlayedMapping(one.mapping, one.cost, one.cost) for one in self.best(count, below=below).best)

    def _rivals(self, found: SearchResult, own: PlayedMapping) -> list[PlayedMapping]:
        """Of spreads over the whole array that none of the best is on, the best that are faster than one."""
        if own.played_cost < _LONG_SECONDS:
            return []
        looked_at, cores = {one.mapping.spread for one in found.best}, prod(self.space.arrays[0])
        others = [one for one in found.of_spreads if one.mapping.spread not in looked_at]
        whole = self._played([one for one in others if prod(one.mapping.spread.grid) == cores])
        return [one for one in whole if one.played_cost < own.played_cost]

    def _played(self, some: Sequence[RankedMapping]) -> list[PlayedMapping]:
        return [PlayedMapping(one.mapping, one.cost, self.estimate.played_cost(one.mapping)) for one in some]

    def beside(self, mapping: Mapping) -> list[Mapping]:
        """What fits and differs from a mapping in one thing: a size, slots, its spread, the order of blocks."""
        found = self.core.beside(self.flat, flat_mapping(mapping))
        return [mapping_from(numbers, self.pack) for numbers in found]

    @property
    def pack(self) -> tuple[int, ...]:
        return self.space.start.pack

    @property
    def core(self) -> _native.Estimator:
        return self.estimate.native(self.pack)

    @cached_property
    def flat(self) -> _native.FlatSpace:
        space = self.space
        return _native.FlatSpace(
            flat_group(space.group),
            flat_mapping(space.start),
            _flat_spreads(space.spreads(space.arrays)),
            _flat_spreads(space.spreads(space.parts)),
            space.open,
            space.units,
            [SLOTS[name] for name in space.slots],
            space.opens_order,
            space.opens_l2,
            space.has_idle_cores,
        )


def _flat_spreads(spreads: Iterable[Spread]) -> list[_native.SpreadNumbers]:
    return [flat_spread(spread) for spread in dict.fromkeys(spreads)]
