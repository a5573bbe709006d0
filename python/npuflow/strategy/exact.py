"""The best mapping of a matmul by the estimate, found by branch and bound: provably so among these sizes. Pure.

There is one cost, the estimate. What is cut off is cut by floors that are made of the estimate's own parts: a mapping
takes at least as long as its cores compute, with what the first block takes to arrive and the last to leave; nearly as
long as DRAM is busy; and most of what is to be set up. Slots change none of these: all are known before any is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf

from npuflow.ops.products import padded
from npuflow.strategy.group import K, M, N
from npuflow.strategy.mapping import Depths, Mapping, Spread
from npuflow.strategy.outer_transfers import OuterTransfers
from npuflow.strategy.search import Search

# Floors and costs are sums of the same numbers in another order.
_ROUNDING = 1e-9
# Of the first block's way from DRAM, and of setting up, what the estimate never takes for hidden. It may count more:
# then floors are lower than they could be, and more is looked at.
_FIRST_SHARE, _SET_UP_SHARE = 0.95, 0.7


def sizes_of(size: int, unit: int) -> list[int]:
    """The tiles of a loop that has so much: for each number of equal parts the smallest, and doublings of the unit."""
    whole = padded(size, unit)
    parts = {padded(-(-size // number), unit) for number in range(1, whole // unit + 1)}
    doublings = {unit << power for power in range((whole // unit).bit_length()) if unit << power <= whole}
    return sorted(parts | doublings)


@dataclass
class ExactSearch:
    """Goes through all mappings of a matmul's space whose sizes are `sizes_of` their loops.

    `looked_at` counts those whose estimate was made, which are `most` at most. `is_proved` says that these were enough,
    and that no floor was above the estimate that it is a floor of, which each estimate that is made is held against.
    """

    search: Search
    most: int = 200_000
    looked_at: int = 0
    is_proved: bool = True
    _best: Mapping | None = None
    _limit: float = inf
    _cycles: dict[tuple[int, int, int], int] = field(default_factory=dict)

    @staticmethod
    def applies_to(search: Search) -> bool:
        """Whether this can be enumerated: a matmul of which nobody has said tiles."""
        space = search.space
        return space.group.packed and space.opens_l2 and {M, N, K} <= set(space.open)

    def best(self) -> Mapping | None:
        """The best that fits; of equals the one that the other search found, or that comes first."""
        found = self.search.best()
        if found is not None:
            self._best, self._limit = found, self.search.cost(found)
            self._check(self._floor_of(found), self._limit)
        space = self.search.space
        for spread in dict.fromkeys(space.spreads((*space.arrays, *space.parts))):
            self._spread(spread)
        return self._best

    def mappings(self, spread: Spread) -> Iterator[Mapping]:
        """Every mapping on a spread, whether it fits or not: what is searched, and what tests go through one by one."""
        for m, n in product(self._tiles(M, spread), self._tiles(N, spread)):
            for piece in self._tiles(K, spread):
                for k in self._tiles(K, spread):
                    if piece % k == 0:
                        yield from (self._mapping(spread, m, n, k, piece, depths) for depths in self._depths)

    def _tiles(self, loop: int, spread: Spread) -> list[int]:
        space = self.search.space
        cores = spread.cores(loop) if loop < space.group.space else 1
        return sizes_of(-(-space.group.sizes[loop] // cores), space.units[loop])

    @property
    def _depths(self) -> list[Depths]:
        """All slots that nobody has said, the most first."""
        space = self.search.space
        found = [space.start.depths]  # which has one of each
        for name in space.slots:
            found = [*(one.with_other(name) for one in found), *found]
        return found

    def _mapping(self, spread: Spread, m: int, n: int, k: int, piece: int, depths: Depths) -> Mapping:
        return replace(self.search.space.start, tiles=(m, n, 1, k), spread=spread, in_l2=(piece,), depths=depths)

    def _spread(self, spread: Spread) -> None:
        """Looks for something better on a spread, the largest tiles first: they are the likeliest to be best."""
        least = self._depths[-1]
        smallest_k = self._tiles(K, spread)[0]
        for m, n in product(reversed(self._tiles(M, spread)), reversed(self._tiles(N, spread))):
            first = self._mapping(spread, m, n, smallest_k, smallest_k, least)
            if not self.search.fits(first):
                continue
            if min(self._core_seconds(spread, m, n, k) for k in self._tiles(K, spread)) < self._limit:
                self._pieces(spread, m, n)

    def _pieces(self, spread: Spread, m: int, n: int) -> None:
        for piece in reversed(self._tiles(K, spread)):
            outer = OuterTransfers(
                self.search.space.group, self.search.device, self._mapping(spread, m, n, piece, piece, self._depths[0])
            )
            first, last = _ends(outer)
            if (outside := self._outside_seconds(outer, last)) >= self._limit:
                continue
            for k in reversed(self._tiles(K, spread)):
                if piece % k:
                    continue
                floor = max(outside, first + self._core_seconds(spread, m, n, k) + last)
                if floor < self._limit:
                    self._slots(spread, (m, n, k, piece), floor)

    def _slots(self, spread: Spread, sizes: tuple[int, int, int, int], floor: float) -> None:
        for depths in self._depths:
            mapping = self._mapping(spread, *sizes, depths)
            if not self.search.fits(mapping):
                continue
            if self.looked_at == self.most:
                self.is_proved = False
                return
            self.looked_at += 1
            cost = self.search.cost(mapping)
            self._check(floor, cost)
            if cost < self._limit:
                self._best, self._limit = mapping, cost

    def _check(self, floor: float, cost: float) -> None:
        """A floor that is no floor proves nothing."""
        self.is_proved &= floor <= cost * (1 + _ROUNDING)

    def _floor_of(self, mapping: Mapping) -> float:
        outer = OuterTransfers(self.search.space.group, self.search.device, mapping)
        (first, last), (m, n, _, k) = _ends(outer), mapping.tiles
        return max(self._outside_seconds(outer, last), first + self._core_seconds(mapping.spread, m, n, k) + last)

    def _outside_seconds(self, outer: OuterTransfers, last: float) -> float:
        """What DRAM takes at least; and what the control processor does, but for the results of the last block."""
        every = _SET_UP_SHARE * sum(outer.descriptors(tensor) for tensor in outer.outside)
        results = sum(outer.channels(tensor) for tensor in outer.group.outputs)
        set_up = self.search.device.control.descriptor_seconds * max(0.0, every - results)
        return max(_FIRST_SHARE * outer.busy_dram_seconds, set_up + last)

    def _core_seconds(self, spread: Spread, m: int, n: int, k: int) -> float:
        """What a core computes in all, found once for each tile; how much of K is in L2 at a time changes nothing."""
        piece = padded(self.search.space.group.sizes[K], k)
        mapping = self._mapping(spread, m, n, k, piece, self._depths[0])
        if (m, n, k) not in self._cycles:
            self._cycles[m, n, k] = self.search.estimate.block_cycles(mapping)
        blocks = 1
        for count in mapping.counts(self.search.space.group):
            blocks *= count
        return blocks * self._cycles[m, n, k] / self.search.device.clock_hz


def _ends(outer: OuterTransfers) -> tuple[float, float]:
    """What DRAM takes at least for what the first block needs, and for what the last one makes."""
    group = outer.group
    first = sum(outer.dram_seconds[tensor.name] / outer.visits(tensor) for tensor in group.inputs)
    return _FIRST_SHARE * first, sum(outer.dram_seconds[tensor.name] / outer.blocks for tensor in group.outputs)
