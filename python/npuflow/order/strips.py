"""Orders that are cut into strips: some rows through all columns that are left, or some columns through all rows.

A strip of a rows takes their panels once and streams the columns; at its end capacity - a columns are still there, and
the next strip begins with those. Sizes and directions of strips are chosen so that the loads are fewest; of large grids
strips as wide as the capacity allows are cut off first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from npuflow.order.cache import Order, Tile, TileGrid

# Rows x columns x capacity up to which all sizes are tried.
_MOST_CHOICES = 6000


@dataclass(frozen=True)
class Strip:
    """So many rows through all columns that are left, or with `of_columns` the other way round."""

    size: int
    of_columns: bool


def strip_orders(grid: TileGrid, capacity: int) -> Iterator[Order]:
    """The best orders of strips that begin with wide strips of rows, and with wide strips of columns."""
    for of_columns in (False, True):
        yield _order_of(grid, _strips(grid, capacity, of_columns=of_columns), capacity)


def _strips(grid: TileGrid, capacity: int, *, of_columns: bool) -> list[Strip]:
    wide = Strip(capacity - 1, of_columns)
    strips = []
    rows, columns = grid.rows, grid.columns
    while rows * columns * capacity > _MOST_CHOICES and (columns if of_columns else rows) > wide.size:
        strips.append(wide)
        rows, columns = (rows, columns - wide.size) if of_columns else (rows - wide.size, columns)
    there = capacity - wide.size if strips else 0
    kept = (there, 0) if of_columns else (0, there)
    if rows * columns * capacity > _MOST_CHOICES:  # one strip holds all that is left
        return [*strips, Strip(columns if of_columns else rows, of_columns)]
    return [*strips, *_best_strips(rows, columns, *kept, capacity)[1]]


@lru_cache(maxsize=1 << 16)
def _best_strips(
    rows: int, columns: int, rows_there: int, columns_there: int, capacity: int
) -> tuple[int, tuple[Strip, ...]]:
    """The loads of the best strips for what is left, and the strips; either rows or columns may be there already."""
    if not rows or not columns:
        return 0, ()
    found = []
    for size in range(1, min(capacity - 1, rows) + 1):
        there = min(columns, capacity - size)
        loads = size - min(size, rows_there) + columns - min(columns_there, there)
        rest, strips = _best_strips(rows - size, columns, 0, there, capacity)
        found.append((loads + rest, (Strip(size, of_columns=False), *strips)))
    for size in range(1, min(capacity - 1, columns) + 1):
        there = min(rows, capacity - size)
        loads = size - min(size, columns_there) + rows - min(rows_there, there)
        rest, strips = _best_strips(rows, columns - size, there, 0, capacity)
        found.append((loads + rest, (Strip(size, of_columns=True), *strips)))
    return min(found, key=lambda one: one[0])


def _order_of(grid: TileGrid, strips: list[Strip], capacity: int) -> Order:
    """The tiles strip by strip; rows and columns that are left stand in the order of their use, the last used first."""
    order: list[Tile] = []
    rows, columns = list(range(grid.rows)), list(range(grid.columns))
    for strip in strips:
        if strip.of_columns:
            tiles, rows = _through(columns[: strip.size], rows, capacity)
            order += [(row, column) for column, row in tiles]
            columns = columns[strip.size :]
        else:
            tiles, columns = _through(rows[: strip.size], columns, capacity)
            order += tiles
            rows = rows[strip.size :]
    return order


def _through(held: list[int], streamed: list[int], capacity: int) -> tuple[list[Tile], list[int]]:
    """The tiles of a strip, as held and streamed line, and the streamed lines as the next strip finds them."""
    there = streamed[: capacity - len(held)]
    tiles = [(line, other) for line in held for other in there]
    tiles += [(line, other) for other in streamed[len(there) :] for line in held]
    return tiles, streamed[::-1]
