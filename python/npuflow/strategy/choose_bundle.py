"""Completes what a user left open of a bundle's strategy. Pure.

For every pair of loops that rows and columns could follow, the smallest tile that fits grows as far as that helps the
estimate (`estimate`): `bundle_search`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from npuflow.strategy.bundle_search import BundleSearch
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group, Tiles
from npuflow.strategy.lane_descriptors import served_rows
from npuflow.strategy.mapping import Depths, Mapping, Spread, strategy_of_bundle
from npuflow.strategy.room import fits, l1_buffers, total_l1_bytes
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

_SHORTEST = 16  # pieces of a streamed loop that growing starts from are no shorter


@lru_cache(maxsize=256)
def complete_bundle(group: Group, given: Strategy, device: Device) -> Strategy | None:
    """The best strategy that keeps to what is given; None where not even the smallest tile fits."""
    groups = (group if not given.gather else None, group.with_gather() if given.gather != 0 else None)
    found = [(best, one) for one in groups if one and (best := _best(one, given, device))]
    if not found:
        return None
    (_, mapping), chosen = min(found, key=lambda each: each[0][0])
    return strategy_of_bundle(chosen, mapping)


def _best(group: Group, given: Strategy, device: Device) -> tuple[float, Mapping] | None:
    """The best mapping and its seconds."""
    estimate = Estimate(group, device)
    search = BundleSearch(group, given, estimate.seconds, lambda mapping: fits(group, mapping, device))
    best = search.best([held for start in _starts(group, given, device) for held in _held(group, given, device, start)])
    return None if best is None else (estimate.seconds(best), best)


def _held(group: Group, given: Strategy, device: Device, start: Mapping) -> Iterator[Mapping]:
    """The mapping as it is, and with what all blocks need held in L2 where that is cut into pieces and fits."""
    if not given.hold:
        yield start
    held = replace(start, depths=replace(start.depths, hold=True))
    if group.streamed and given.hold != 0 and fits(group, held, device):
        yield held


def smallest_tile_fits(group: Group, device: Device) -> bool:
    """Whether a tile of one in every loop of the space fits L1 at all, streaming what can be streamed."""
    tiles = group.whole()
    for loop in group.streamed:
        tiles[loop] = 1
    return bare_l1_bytes(group, tiles, device) <= device.capacity_bytes(1, 1, 1)


def bare_l1_bytes(group: Group, tiles: Tiles, device: Device) -> int:
    """What tiles take of a core, with single slots."""
    mapping = Mapping(tuple(tiles), Spread((1, 1), 0, 0), Depths(1, 1, 1), tuple(range(group.space)))
    return total_l1_bytes(l1_buffers(group, mapping), device.level(1).alignment_bytes)


def _starts(group: Group, given: Strategy, device: Device) -> list[Mapping]:
    """The smallest tiles that fit, on fewer rows where memory tiles can't serve all of them."""
    rows = served_rows(device)
    found: list[Mapping] = []
    while not found and rows:
        found = _starts_on(_grids(group, given, (rows, device.columns)), group, given, device)
        rows = rows // 2 if not given.grid else 0
    return found


def _starts_on(grids: list[tuple[int, int]], group: Group, given: Strategy, device: Device) -> list[Mapping]:
    """The smallest tile that fits, for every way to spread the grid; double-buffered where that fits anywhere."""
    loops = range(group.space)
    wide = [loop for loop in loops if group.sizes[loop] > 1] or [0]
    pairs = [given.spread] if given.spread else list(product(wide, wide))
    for depths in _depths(group, given, device):
        starts = []
        for grid, (rows, columns) in product(grids, pairs):
            spread = Spread(grid, rows, columns)
            first = Mapping(tuple(group.whole()), spread, depths, given.order or tuple(loops))
            smallest = _smallest(group, given, first, device)
            if smallest is not None:
                lengths = [smallest.tiles] if given.stream else _shorter(group, smallest.tiles)
                starts += [replace(smallest, tiles=length) for length in lengths]
        if starts:
            return starts
    return []


def _grids(group: Group, given: Strategy, array: tuple[int, int]) -> list[tuple[int, int]]:
    """The whole array; a row of it or a core where there is too little work for all."""
    if given.grid:
        return [given.array]
    if prod(group.sizes[: group.space]) >= prod(array):
        return [array]
    return list(dict.fromkeys([array, (1, array[1]), (1, 1)]))


def _depths(group: Group, given: Strategy, device: Device) -> Iterator[Depths]:
    """Slots, the best first. A result leaves while the next one's products are summed, and so needs one at first."""
    result = given.depth_result or (1 if _multiplies(group, device) else 2)
    for l2, l1 in ((2, 2), (1, 2), (2, 1), (1, 1)):
        if given.depth_l2 in (None, l2) and given.depth_l1 in (None, l1):
            yield Depths(l2, l1, result)
    if given.depth_result is None and result > 1:
        yield Depths(given.depth_l2 or 1, given.depth_l1 or 1, 1)
    if (given.depth_l2 or 1) > 2 or (given.depth_l1 or 1) > 2:
        yield Depths(given.depth_l2 or 1, given.depth_l1 or 1, result)


def _multiplies(group: Group, device: Device) -> bool:
    """Whether a bundle sums products that matrix instructions do."""
    return any(work.products and device.has_instruction(work.products.types) for work in group.work)


def _smallest(group: Group, given: Strategy, first: Mapping, device: Device) -> Mapping | None:
    tiles = group.whole()
    if given.tile_l1:
        tiles[: group.space] = given.tile_l1
    if given.stream:
        for loop, tile in zip(group.streamed, given.stream):
            tiles[loop] = tile
    found = replace(first, tiles=tuple(tiles))
    for loop in group.streamed if not given.stream else ():
        while not fits(group, found, device) and found.tiles[loop] > 1:
            found = found.with_tile(loop, _previous_piece(group, loop, found.tiles[loop]))
    return found if fits(group, found, device) else None


def _shorter(group: Group, tiles: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The tiles, and tiles with streamed loops cut shorter: less of them at a time leaves room for the others."""
    found, now = [tiles], list(tiles)
    for loop in group.streamed:
        while now[loop] > _SHORTEST:
            now[loop] = _previous_piece(group, loop, _previous_piece(group, loop, now[loop]))
            found.append(tuple(now))
    return found


def _previous_piece(group: Group, loop: int, piece: int) -> int:
    """The next smaller piece: a divisor that isn't much smaller than the piece, else half of it."""
    size, half = group.sizes[loop], max(1, piece // 2)
    if size // half < half:  # fewer pieces to try than lengths of them
        return next((size // n for n in range(-(-size // (piece - 1)), size // half + 1) if size % n == 0), half)
    return next((d for d in range(piece - 1, half - 1, -1) if size % d == 0), half)
