"""From the smallest tiles to the best: how the candidates of `choose_bundle` grow. Pure.

All starts grow by a few steps, always in the loop that helps the estimate most; the better half of them, and the best
of each kind, by a few more, until a few are left that grow fully. The best of those trade: one loop's tile is cut, and
another one's grows into the room. Last come the order of blocks and second slots for results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, permutations
from math import prod

from npuflow.strategy.group import Group
from npuflow.strategy.mapping import Mapping
from npuflow.strategy.strategy import Strategy

_FINALISTS, _STEPS, _TRADERS = 4, 2, 3
_ORDERED_LOOPS = 4  # orders are compared for so many loops that step; more of them keep their order


@dataclass(frozen=True)
class BundleSearch:
    """What is looked for, how long a candidate takes, and whether it fits."""

    group: Group
    given: Strategy
    estimate: Callable[[Mapping], float]
    fits: Callable[[Mapping], bool]
    _costs: dict[Mapping, float] = field(default_factory=dict)

    def cost(self, candidate: Mapping) -> float:
        """Its estimate, made once."""
        if candidate not in self._costs:
            self._costs[candidate] = self.estimate(candidate)
        return self._costs[candidate]

    def best(self, starts: Sequence[Mapping]) -> Mapping | None:
        """The best of what the starts grow into; of equals that with fewer cores, spread along one loop."""
        live = [(_kind(self.group, start), start) for start in starts]
        while len(live) > _FINALISTS:
            live = sorted(((kind, self._grow(c, _STEPS)) for kind, c in live), key=lambda each: self.cost(each[1]))
            firsts = list({kind: place for place, (kind, _) in reversed(list(enumerate(live)))}.values())
            kept = sorted({*range(max(_FINALISTS, len(live) // 2)), *firsts})
            if len(kept) == len(live):
                break
            live = [live[place] for place in kept]
        grown = sorted({self._grow(candidate, None): None for _, candidate in live}, key=self.cost)
        traded = [self._trade(candidate) for candidate in grown[:_TRADERS]]
        found = [self._ordered(self._with_slots(candidate)) for candidate in (*traded, *grown[_TRADERS:])]
        return min(
            found, key=lambda c: (self.cost(c), prod(c.spread.grid), c.spread.rows != c.spread.columns), default=None
        )

    def _cheapest(self, candidates: Iterable[Mapping], than: Mapping) -> Mapping | None:
        """The best of those that fit, if it is better than a candidate."""
        fitting = [candidate for candidate in candidates if self.fits(candidate)]
        found = min(fitting, key=lambda candidate: (self.cost(candidate), candidate.tiles), default=than)
        return found if self.cost(found) < self.cost(than) else None

    def _grow(self, candidate: Mapping, steps: int | None) -> Mapping:
        """The candidate after so many steps, or None: after as many as help."""
        for _ in range(steps) if steps is not None else count():
            better = self._cheapest(self._larger(candidate), candidate)
            if better is None:
                break
            candidate = better
        return candidate

    def _trade(self, candidate: Mapping) -> Mapping:
        """The candidate after the trades that help."""
        while (better := self._cheapest(self._traded(candidate), candidate)) is not None:
            candidate = self._grow(better, None)
        return candidate

    def _with_slots(self, best: Mapping) -> Mapping:
        """The candidate with a second slot for results where there is room left for it."""
        more = replace(best, depths=replace(best.depths, result=max(2, best.depths.result)))
        return more if self.given.depth_result is None and self.fits(more) else best

    def _ordered(self, best: Mapping) -> Mapping:
        """The candidate with the best order of its blocks."""
        if self.given.order:
            return best
        orders = (replace(best, order=order) for order in orders_of(self.group, best))
        return min(filter(self.fits, orders), key=self.cost, default=best)

    # Neighbours

    def _larger(self, candidate: Mapping) -> Iterator[Mapping]:
        for loop in self._open_loops():
            for size in _next_tiles(candidate.tiles[loop], self._share(candidate, loop)):
                yield candidate.with_tile(loop, size)

    def _traded(self, candidate: Mapping) -> Iterator[Mapping]:
        """The candidate with one loop's tile doubled and another one's cut."""
        for loop in self._open_loops():
            size = min(2 * candidate.tiles[loop], self._share(candidate, loop))
            if size == candidate.tiles[loop]:
                continue
            grown = candidate.with_tile(loop, size)
            for other in self._open_loops():
                if other != loop and grown.tiles[other] > 1:
                    yield grown.with_tile(other, -(-grown.tiles[other] // 2))

    def _open_loops(self) -> list[int]:
        """The loops whose tiles nobody has said."""
        space = range(self.group.space) if not self.given.tile_l1 else ()
        return [*space, *(self.group.streamed if not self.given.stream else ())]

    def _share(self, candidate: Mapping, loop: int) -> int:
        """What a core has of a loop at most."""
        cores = candidate.spread.cores(loop) if loop < self.group.space else 1
        return -(-self.group.sizes[loop] // cores)


def _kind(group: Group, start: Mapping) -> tuple[object, ...]:
    """What growing doesn't change well: how much of the streamed loops there is at first, and whether L2 holds them."""
    return start.depths.hold, tuple(start.tiles[loop] for loop in group.streamed)


def _next_tiles(tile: int, share: int) -> set[int]:
    """Twice the tile, and the tiles that cut a core's share into equal parts just above."""
    if tile >= share:
        return set()
    parts = -(-share // tile)
    return {min(2 * tile, share), -(-share // max(1, parts - 1)), -(-share // max(1, parts // 2)), share}


def orders_of(group: Group, candidate: Mapping) -> Iterator[tuple[int, ...]]:
    """Orders of the space's loops that differ in what they do."""
    counts = candidate.counts(group)
    stepping = [loop for loop in range(group.space) if counts[loop] > 1]
    resting = [loop for loop in range(group.space) if counts[loop] == 1]
    orders = permutations(stepping) if len(stepping) <= _ORDERED_LOOPS else iter([tuple(stepping)])
    for order in orders:
        yield (*resting, *order)
