"""The named orders of a grid beside the best one, with what each loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuflow.order.cache import Order, PanelCache
from npuflow.order.named import named_orders
from npuflow.order.optimum import MOST_STATES, best_order


@dataclass(frozen=True)
class MeasuredOrder:
    """An order, the panels that each of its tiles loads, and the result's tiles that are written, if they count."""

    order: Order
    loads: Sequence[int]
    writes: int

    @property
    def cost(self) -> int:
        return sum(self.loads) + self.writes


@dataclass(frozen=True)
class Compared:
    """`lower_bound` is below every order, and `writes` in it: each tile of the result is written once, in any order."""

    cache: PanelCache
    optimum: MeasuredOrder
    orders: Mapping[str, MeasuredOrder]
    lower_bound: int
    writes: int

    @property
    def is_exact(self) -> bool:
        """Whether the best order that was found is the best there is."""
        return self.optimum.cost == self.lower_bound


def compare_orders(cache: PanelCache, *, write_back: bool = False, most_states: int = MOST_STATES) -> Compared:
    """What named orders load, and the best order as far as a search of so many states finds it."""
    writes = cache.grid.tiles if write_back else 0
    best = best_order(cache, most_states)

    def measured(order: Order) -> MeasuredOrder:
        return MeasuredOrder(order, cache.loads_of(order), writes)

    orders = {name: measured(order) for name, order in named_orders(cache.grid).items()}
    return Compared(cache, measured(best.order), orders, best.lower_bound + writes, writes)
