"""What an order and the best order load, by looking at everything that could happen: for grids of a few tiles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from npuflow.order.cache import Order, PanelCache, Policy, Tile

Panel = tuple[str, int]
Panels = tuple[Panel, ...]


def panels_of(tile: Tile) -> Panels:
    return ("row", tile[0]), ("column", tile[1])


def after(there: Panels, tile: Tile, cache: PanelCache) -> Iterator[tuple[Panels, int]]:
    """What can be there once a tile is done, the last used last, and what that loads."""
    needed = panels_of(tile)
    others = [panel for panel in there if panel not in needed]
    loads = sum(panel not in there for panel in needed)
    room = cache.capacity - len(needed)
    if cache.policy is Policy.LRU:
        yield (*others[max(0, len(others) - room) :], *needed), loads
        return
    for kept in combinations(sorted(others), min(room, len(others))):
        yield tuple(sorted((*kept, *needed))), loads


def loads_of_order(order: Order, cache: PanelCache) -> int:
    """The fewest loads of an order, whatever is evicted when."""
    least: dict[Panels, int] = {(): 0}
    for tile in order:
        reached: dict[Panels, int] = {}
        for there, before in least.items():
            for then, loads in after(there, tile, cache):
                reached[then] = min(reached.get(then, 1 << 30), before + loads)
        least = reached
    return min(least.values())


def loads_of_best_order(cache: PanelCache) -> int:
    """The fewest loads of any order: tiles one by one, from every set of tiles and every content of the cache."""
    tiles = [(row, column) for row in range(cache.grid.rows) for column in range(cache.grid.columns)]
    least: dict[tuple[frozenset[Tile], Panels], int] = {(frozenset(), ()): 0}
    for _ in tiles:
        reached: dict[tuple[frozenset[Tile], Panels], int] = {}
        for (done, there), before in least.items():
            for tile in tiles:
                if tile in done:
                    continue
                for then, loads in after(there, tile, cache):
                    state = (done | {tile}, then)
                    reached[state] = min(reached.get(state, 1 << 30), before + loads)
        least = reached
    return min(least.values())
