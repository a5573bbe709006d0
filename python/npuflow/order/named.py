"""The orders that have names: row by row, there and back, along curves that fill a square, and in groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from npuflow.order.cache import Order, Tile, TileGrid

# Groups of more rows than a cache has room for cost what rows one by one would; these are what kernels in use have.
GROUPS = (2, 3, 4, 8)


def named_orders(grid: TileGrid) -> Mapping[str, Order]:
    """Every order by its name; groups of so many rows where there are more rows than that."""
    made: dict[str, Order] = {
        "row-major": list(_grouped(grid, 1, turns=False)),
        "snake": list(_grouped(grid, 1, turns=True)),
        "z": _along(grid, _z_tile),
        "hilbert": _along(grid, _hilbert_tile),
    }
    for rows in GROUPS:
        if rows < grid.rows:
            made[f"grouped-{rows}"] = list(_grouped(grid, rows, turns=False))
            made[f"grouped-snake-{rows}"] = list(_grouped(grid, rows, turns=True))
    return made


def _grouped(grid: TileGrid, rows: int, *, turns: bool) -> Iterator[Tile]:
    """Groups of rows one after the other, column by column in each; where it `turns`, every other group backwards."""
    for number, first in enumerate(range(0, grid.rows, rows)):
        columns = range(grid.columns)
        for column in reversed(columns) if turns and number % 2 else columns:
            yield from ((row, column) for row in range(first, min(first + rows, grid.rows)))


def _along(grid: TileGrid, tile_at: Callable[[int, int], Tile]) -> Order:
    """Along a curve through the smallest square of a power of two that holds the grid, without what lies outside."""
    side = 1 << (max(grid.rows, grid.columns) - 1).bit_length()
    tiles = (tile_at(side, place) for place in range(side * side))
    return [(row, column) for row, column in tiles if row < grid.rows and column < grid.columns]


def _z_tile(side: int, place: int) -> Tile:
    """The row's bits and the column's in turns, the column's last."""
    row = column = 0
    for bit in range(side.bit_length()):
        column |= (place >> 2 * bit & 1) << bit
        row |= (place >> 2 * bit + 1 & 1) << bit
    return row, column


def _hilbert_tile(side: int, place: int) -> Tile:
    """Hilbert's curve: each quarter is the curve of half the side, the first and the last one mirrored."""
    row = column = 0
    half = 1
    while half < side:
        lower = place // 2 & 1
        right = (place ^ lower) & 1
        if not right:
            if lower:
                row, column = half - 1 - row, half - 1 - column
            row, column = column, row
        row, column = row + half * lower, column + half * right
        place //= 4
        half *= 2
    return row, column
