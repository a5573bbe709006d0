"""A grid of output tiles, a fast memory of so many panels, and what an order of the tiles loads into it.

Tile (i, j) takes row panel i and column panel j, both at the same time. What goes for a panel that is loaded is, under
LRU, the panel that was used the longest time ago, a tile's column counting as used after its row; under Belady's rule,
the one whose next use is the furthest away, which is the best for a given order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from npuflow import _native
from npuflow.errors import InputError, with_hint

# A tile takes two panels.
LEAST_CAPACITY = 2
MOST_TILES = 1 << 18

Tile = tuple[int, int]
Order = Sequence[Tile]


class Policy(Enum):
    """What goes when a panel is loaded and there is no room."""

    LRU = "lru"
    BELADY = "belady"


@dataclass(frozen=True)
class TileGrid:
    """Rows and columns of output tiles."""

    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"

    @property
    def tiles(self) -> int:
        return self.rows * self.columns

    @property
    def panels(self) -> int:
        """What every order loads at least: each panel once."""
        return self.rows + self.columns

    @property
    def turned(self) -> TileGrid:
        return TileGrid(self.columns, self.rows)


@dataclass(frozen=True)
class PanelCache:
    """The problem: a grid, room for `capacity` panels, and what goes when there is none."""

    grid: TileGrid
    capacity: int
    policy: Policy = Policy.BELADY

    @property
    def used_capacity(self) -> int:
        """The capacity, or as much of it as there are panels for."""
        return min(self.capacity, self.grid.panels)

    def loads_of(self, order: Order) -> list[int]:
        """How many panels each tile loads."""
        grid = self.grid
        is_lru = self.policy is Policy.LRU
        return _native.order_loads(grid.rows, grid.columns, self.used_capacity, is_lru, order)


def check_cache(cache: PanelCache) -> None:
    """Raises InputError for a grid or a capacity that no order can be found for."""
    grid = cache.grid
    if min(grid.rows, grid.columns) < 1:
        raise InputError(with_hint(f"a grid of {grid} has no tiles", "give one of 1x1 at least"))
    if grid.tiles > MOST_TILES:
        what = f"a grid of {grid} has {grid.tiles} tiles, more than the {MOST_TILES} that are walked through"
        raise InputError(with_hint(what, "take larger tiles, or a part of the grid"))
    if cache.capacity < LEAST_CAPACITY:
        what = f"a tile takes a row's and a column's panel at the same time, and there is room for {cache.capacity}"
        raise InputError(with_hint(what, f"a capacity of {LEAST_CAPACITY} panels at least"))
