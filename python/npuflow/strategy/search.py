"""From the smallest tiles to the best mapping: a search by the estimate. Pure.

All starts grow by a few steps, always in the loop that helps most; the better half of them, and the best of each kind,
by a few more, until a few are left that grow fully. The best of those trade: one loop's tile is cut and another one's
grows into the room, or slots are given away or taken. Last comes the order of blocks. Where setting up transfers takes
longer than the work, the same goes on from the best on parts of the array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count, permutations
from math import prod

from npuflow.strategy.estimate import Estimate
from npuflow.strategy.mapping import Mapping, Spread
from npuflow.strategy.neighbours import Neighbours
from npuflow.strategy.room import fits
from npuflow.strategy.space import Array, Space
from npuflow.strategy.strategy import Sizes
from npuflow.target import Device

_FINALISTS, _STEPS, _TRADERS = 4, 2, 3
_ORDERED_LOOPS = 4  # orders are compared for so many loops that step; more of them keep their order
_SHORTEST = 16  # pieces of a streamed loop that growing starts from are no shorter
# Estimates err by so much between candidates that are unlike, as those on other arrays are.
_UNLIKE = 0.05
# Parts of the array are tried where the whole one's work takes at most so much of the time: what is set up does then.
_SMALL_SHARE = 0.5


@dataclass(frozen=True)
class Search:
    """What is looked for, where, and what is known of candidates."""

    space: Space
    device: Device
    estimate: Estimate
    near: Neighbours
    _costs: dict[Mapping, float] = field(default_factory=dict)
    _fits: dict[Mapping, bool] = field(default_factory=dict)

    @staticmethod
    def of(space: Space, device: Device) -> Search:
        return Search(space, device, Estimate(space.group, device), Neighbours(space))

    def cost(self, candidate: Mapping) -> float:
        """Its estimate, made once."""
        if (known := self._costs.get(candidate)) is None:
            known = self._costs[candidate] = self.estimate.cost(candidate)
        return known

    def fits(self, candidate: Mapping) -> bool:
        """Whether there is room for it, and its pieces in L2 are made of tiles."""
        tiles = (candidate.tiles[loop] for loop in self.space.group.streamed)
        if any(piece % tile for piece, tile in zip(candidate.in_l2, tiles)):
            return False
        if (known := self._fits.get(candidate)) is None:
            known = self._fits[candidate] = fits(self.space.group, candidate, self.device)
        return known

    def best(self) -> Mapping | None:
        """The best that fits; None where nothing does."""
        space = self.space
        found = self._best_of(self._starts(list(space.spreads(space.arrays))))
        if not found:
            found = self._best_of(self._starts(list(space.spreads(space.parts))))
        elif space.has_idle_cores or self.estimate.work_share(found[0]) < _SMALL_SHARE:
            parts = (self._on(one, part) for part in space.parts for one in found)
            limit = self.cost(found[0]) * (1 if space.has_idle_cores else 1 - _UNLIKE)
            found += (one for one in self._best_of(list(filter(self.fits, parts))) if self.cost(one) <= limit)
        return min(found, key=self._rank, default=None)

    def seen(self) -> list[Mapping]:
        """What fits of all that has been looked at so far, the best first."""
        found = (candidate for candidate, is_fitting in self._fits.items() if is_fitting)
        return sorted(filter(self.fits, found), key=lambda one: (self.cost(one), one.tiles))

    def _on(self, mapping: Mapping, array: Array) -> Mapping:
        """The mapping on another array."""
        (spread,) = (s for s in self.space.spreads((array,)) if s.loops == mapping.spread.loops)
        return replace(mapping, spread=spread)

    def _rank(self, candidate: Mapping) -> tuple[float, int, bool]:
        """Less is better; of equals that with fewer cores, spread along one loop."""
        return self.cost(candidate), prod(candidate.spread.grid), candidate.spread.rows != candidate.spread.columns

    def _best_of(self, starts: Sequence[Mapping]) -> list[Mapping]:
        """The best few of what starts grow into, the best first."""
        live = [(self._kind(start), start) for start in starts]
        while len(live) > _FINALISTS:
            live = sorted(((kind, self._grow(c, _STEPS)) for kind, c in live), key=lambda each: self.cost(each[1]))
            firsts = list({kind: place for place, (kind, _) in reversed(list(enumerate(live)))}.values())
            kept = sorted({*range(max(_FINALISTS, len(live) // 2)), *firsts})
            if len(kept) == len(live):
                break
            live = [live[place] for place in kept]
        grown = sorted({self._grow(candidate, None): None for _, candidate in live}, key=self.cost)
        found = [self._ordered(self._trade(candidate)) for candidate in self._traders(grown)]
        return sorted((*found, *grown), key=self._rank)

    def _traders(self, grown: Sequence[Mapping]) -> list[Mapping]:
        """The best few that are unlike in their sizes, and the best of those that hold and of those that don't."""
        unlike: dict[tuple[Sizes, Sizes], Mapping] = {}
        holding: dict[bool, Mapping] = {}
        for one in grown:
            unlike.setdefault((one.tiles, one.in_l2), one)
            holding.setdefault(one.depths.hold, one)
        return list(dict.fromkeys((*list(unlike.values())[:_TRADERS], *holding.values())))

    def _kind(self, start: Mapping) -> tuple[object, ...]:
        """What growing doesn't change well: how much of streamed loops there is at first, and whether L2 holds them."""
        return start.spread.grid, start.depths.hold, tuple(start.tiles[loop] for loop in self.space.group.streamed)

    # Where it begins

    def _starts(self, spreads: Sequence[Spread]) -> list[Mapping]:
        """The smallest tiles that fit, with longer and shorter pieces of streamed loops, for every spread."""
        space = self.space
        for depths in dict.fromkeys(space.depths):
            found: list[Mapping] = []
            for spread in spreads:
                smallest = self._smallest(replace(space.start, spread=spread, depths=depths))
                found += [] if smallest is None else self._shorter(smallest)
            if not found:
                continue
            if "hold" in space.slots and not space.opens_l2:
                held = (replace(one, depths=replace(one.depths, hold=True)) for one in found)
                found = [*found, *filter(self.fits, held)]
            return found
        return []

    def _smallest(self, first: Mapping) -> Mapping | None:
        """The smallest tile of the space that fits, with as much of streamed loops as does."""
        for loop in self._streamed():
            first = self.near.streaming(first, loop, self.space.share(first, loop))
            while not self.fits(first) and first.tiles[loop] > self.space.units[loop]:
                first = self.near.streaming(first, loop, self._previous(loop, first.tiles[loop]))
        return first if self.fits(first) else None

    def _shorter(self, smallest: Mapping) -> list[Mapping]:
        """The mapping, and the same with streamed loops cut shorter: which leaves room for other loops.

        Loops that no window goes along are cut until they are short together: one long one is as good as another.
        """
        found, windowed = [smallest], self.space.group.windowed
        for loop in self._streamed():
            beside = [other for other in self._streamed() if other != loop and {loop, other}.isdisjoint(windowed)]
            while (piece := found[-1].tiles[loop]) > self.space.units[loop]:
                if piece * prod(found[-1].tiles[other] for other in beside) <= _SHORTEST:
                    break
                shorter = self._previous(loop, self._previous(loop, piece))
                found.append(self.near.resized(found[-1], loop, shorter))
        if not self.space.opens_l2:
            return found
        if len(self._streamed()) == 1:  # growing leads from one length to the others
            found = [found[0], found[len(found) // 2], found[-1]]
        return list(dict.fromkeys((*found, self._balanced(found[-1]))))

    def _balanced(self, shortest: Mapping) -> Mapping:
        """The mapping with each size doubled in turn, the smallest first, while that fits."""
        for place, loop in zip(self.near.in_l2, self._streamed()):
            shortest = self.near.resized(shortest, place, shortest.tiles[loop])
        places = set(self.near.places)
        while places:
            place = min(places, key=lambda place: (self.near.size(shortest, place), place))
            size = min(2 * self.near.size(shortest, place), self.near.room(shortest, place)[1])
            larger = self.near.resized(shortest, place, size)
            if larger == shortest or not self.fits(larger):
                places.remove(place)
            else:
                shortest = larger
        return shortest

    def _streamed(self) -> list[int]:
        return [loop for loop in self.space.group.streamed if loop in self.space.open]

    def _previous(self, loop: int, piece: int) -> int:
        """The next smaller piece: a divisor that isn't much smaller than the piece, else half of it."""
        unit = self.space.units[loop]
        size, least = -(-self.space.group.sizes[loop] // unit), max(1, piece // unit // 2)
        most = piece // unit - 1
        if size // least < least:  # fewer pieces to try than lengths of them
            counts = range(-(-size // max(1, most)), size // least + 1)
            return unit * next((size // n for n in counts if size % n == 0), least)
        return unit * next((d for d in range(most, least - 1, -1) if size % d == 0), least)

    # How it goes on

    def _grow(self, candidate: Mapping, steps: int | None) -> Mapping:
        """The candidate after so many steps, or None: after as many as help."""
        for _ in range(steps) if steps is not None else count():
            better = self._better(candidate, ((larger, self.near.in_l2) for larger in self.near.larger(candidate)))
            if better is None:
                break
            candidate = better
        return candidate

    def _trade(self, candidate: Mapping) -> Mapping:
        """The candidate after the trades that help."""
        while (better := self._better(candidate, self.near.changed(candidate))) is not None:
            candidate = self._grow(better, None)
        return candidate

    def _better(self, than: Mapping, changes: Iterable[tuple[Mapping, Sequence[int]]]) -> Mapping | None:
        """The best change that fits, if it is better than a candidate; sizes in these places are cut where that takes.

        Candidates are looked at from the best on, whether they fit or not: those that are cut are no better.
        """
        limit, seen = self.cost(than), {than}
        heap: list[tuple[float, tuple[int, ...], int, Mapping, Sequence[int]]] = []

        def push(changed: Mapping, cuts: Sequence[int]) -> None:
            if changed not in seen and self.cost(changed) < limit:
                seen.add(changed)
                heappush(heap, (self.cost(changed), changed.tiles, len(seen), changed, cuts))

        for changed, cuts in changes:
            push(changed, cuts)
        while heap:
            *_, candidate, cuts = heappop(heap)
            if self.fits(candidate):
                return candidate
            for place in cuts:
                if (cut := self.near.smaller(candidate, place)) is not None:
                    push(cut, tuple(dict.fromkeys((place, *self.near.in_l2))))
        return None

    def _ordered(self, best: Mapping) -> Mapping:
        """The candidate with the best order of its blocks."""
        if not self.space.opens_order:
            return best
        return min(filter(self.fits, self.orders(best)), key=self.cost, default=best)

    def orders(self, candidate: Mapping) -> Iterator[Mapping]:
        """Orders of the space's loops that differ in what they do."""
        group = self.space.group
        counts = candidate.counts(group)
        stepping = [loop for loop in range(group.space) if counts[loop] > 1]
        resting = [loop for loop in range(group.space) if counts[loop] == 1]
        for order in permutations(stepping) if len(stepping) <= _ORDERED_LOOPS else [stepping]:
            yield replace(candidate, order=(*resting, *order))
