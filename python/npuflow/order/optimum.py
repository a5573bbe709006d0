"""The order that loads the fewest panels: proved by trying all where that ends, else the best known and a bound."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow import _native
from npuflow.order.cache import Order, PanelCache, Policy, TileGrid
from npuflow.order.named import named_orders
from npuflow.order.strips import strip_orders

# What the native search has room for, and how many states it looks at: some seconds' worth, the same on all machines.
_SEARCHED_TILES, _SEARCHED_LINES = 64, 16
MOST_STATES = 200_000


@dataclass(frozen=True)
class Optimum:
    """The best order that was found; no order loads fewer panels than `lower_bound`."""

    order: Order
    loads: int
    lower_bound: int

    @property
    def is_exact(self) -> bool:
        return self.loads == self.lower_bound


def is_searched(grid: TileGrid) -> bool:
    """Whether the native search has room for a grid."""
    return grid.tiles <= _SEARCHED_TILES and max(grid.rows, grid.columns) <= _SEARCHED_LINES


def best_order(cache: PanelCache, most_states: int = MOST_STATES) -> Optimum:
    """The optimum, or what is known of it once the search has looked at so many states."""
    grid, bound = cache.grid, loads_bound(cache)
    known = [*named_orders(grid).values(), *strip_orders(grid, cache.used_capacity)]
    loads, order = min(((sum(cache.loads_of(order)), order) for order in known), key=lambda one: one[0])
    if loads == bound or not is_searched(grid):
        return Optimum(order, loads, bound)
    is_lru = cache.policy is Policy.LRU
    least, found = _native.search_order(grid.rows, grid.columns, cache.used_capacity, is_lru, loads, most_states)
    if found:
        return Optimum(found, least, least)
    return Optimum(order, loads, max(bound, least))


def loads_bound(cache: PanelCache) -> int:
    """No order loads fewer panels, under any policy.

    Each panel is loaded once. A load makes no more tiles possible than there are panels of the other kind beside it: at
    most k // 2 for the k-th while there is room, and capacity - 1 from then on.
    """
    grid, capacity = cache.grid, cache.used_capacity
    filled = (capacity // 2) * (capacity - capacity // 2)
    left = max(0, grid.tiles - filled)
    return max(grid.panels, capacity + -(-left // (capacity - 1)))
