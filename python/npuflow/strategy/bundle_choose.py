"""Completes what a user left open of a bundle's strategy. Pure.

For every pair of loops that rows and columns could follow, the smallest tile that fits grows, always in the loop that
helps the estimate (`bundle_estimate`) most, until nothing helps or fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, permutations, product
from math import prod

from npuflow.strategy.bundle_estimate import Candidate, estimate
from npuflow.strategy.bundle_shape import BundleShape, Depths, Spread, l1_bytes, l2_bytes, l2_descriptors, trips
from npuflow.strategy.bundle_strategy import BundleStrategy
from npuflow.strategy.footprint import row_tiles
from npuflow.target import Device

_FINALISTS, _STEPS = 4, 2
_SHORTEST = 16  # pieces of a streamed loop that growing starts from are no shorter
_ORDERED_LOOPS = 4  # orders are compared for so many loops that step; more of them keep their order


@dataclass(frozen=True)
class GivenBundle:
    """What is said of a bundle's strategy; None where nothing is."""

    grid: tuple[int, int] | None = None
    spread: tuple[int, int] | None = None
    tile_l1: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None
    stream: tuple[int, ...] | None = None
    depth_l2: int | None = None
    depth_l1: int | None = None
    depth_result: int | None = None
    gather: int | None = None


@lru_cache(maxsize=256)
def complete_bundle(shape: BundleShape, given: GivenBundle, device: Device) -> BundleStrategy | None:
    """The best strategy that keeps to what is given; None where not even the smallest tile fits."""
    direct = _best(shape, given, device) if not given.gather else None
    other = shape.with_gather() if given.gather != 0 else None
    gathered = _best(other, given, device) if other else None
    both = [(estimate(s, c, device), s, c) for s, c in ((shape, direct), (other, gathered)) if s and c]
    if not both:
        return None
    _, shape, best = min(both, key=lambda found: found[0])
    stream = tuple(best.tiles[loop] for loop in shape.streamed)
    return BundleStrategy(
        best.spread.grid,
        (best.spread.rows, best.spread.columns),
        best.tiles[: shape.space],
        best.order,
        stream,
        best.depths.l2,
        best.depths.l1,
        best.depths.result,
        int(any(tensor.gathered for tensor in shape.tensors)),
    )


def _best(shape: BundleShape, given: GivenBundle, device: Device) -> Candidate | None:
    """The best of what grows: all starts by a few steps, the better half of them by a few more, the best ones fully."""
    live = list(_starts(shape, given, device))
    while len(live) > _FINALISTS:
        live = sorted((_grow(shape, given, device, c, _STEPS) for c in live), key=lambda c: estimate(shape, c, device))
        live = live[: max(_FINALISTS, len(live) // 2)]
    found = [_ordered(shape, given, device, _grow(shape, given, device, start, None)) for start in live]
    return min(
        found,
        key=lambda c: (estimate(shape, c, device), prod(c.spread.grid), c.spread.rows != c.spread.columns),
        default=None,
    )


def smallest_tile_fits(shape: BundleShape, device: Device) -> bool:
    """Whether a tile of one in every loop of the space fits L1 at all, streaming what can be streamed."""
    tiles = shape.whole()
    for loop in shape.streamed:
        tiles[loop] = 1
    return l1_bytes(shape, tiles, Depths(1, 1, 1)) <= device.capacity_bytes(1, 1, 1)


def fits(shape: BundleShape, tiles: tuple[int, ...], spread: Spread, depths: Depths, device: Device) -> bool:
    """Whether a tile fits L1, and its block L2: with the zeros around it, or clipped where L2's DMA inserts them."""
    if l1_bytes(shape, tiles, depths) > device.capacity_bytes(1, 1, 1):
        return False
    serving, dma = row_tiles(spread.grid[0], device.columns), device.dma(2)
    groups, have = dma.descriptor_groups, device.capacity_bytes(2, 1, 1)
    return any(
        l2_bytes(shape, tiles, spread, depths, serving, clipped is not None) <= have
        and l2_descriptors(shape, spread, depths, serving, groups, clipped) <= dma.descriptors // groups
        for clipped in ((None, tiles) if dma.pads_with_zeros else (None,))
    )


def _starts(shape: BundleShape, given: GivenBundle, device: Device) -> Iterator[Candidate]:
    """The smallest tile that fits, for every way to spread the grid; double-buffered where that fits anywhere."""
    loops = range(shape.space)
    wide = [loop for loop in loops if shape.sizes[loop] > 1] or [0]
    pairs = [given.spread] if given.spread else list(product(wide, wide))
    for depths in _depths(given):
        starts = []
        for grid, (rows, columns) in product(_grids(shape, given, device), pairs):
            spread = Spread(grid, rows, columns)
            tiles = _smallest(shape, given, spread, depths, device)
            if tiles is not None:
                lengths = [tiles] if given.stream is not None else _shorter(shape, tiles)
                starts += [Candidate(length, spread, depths, given.order or tuple(loops)) for length in lengths]
        yield from starts
        if starts:
            return


def _grids(shape: BundleShape, given: GivenBundle, device: Device) -> list[tuple[int, int]]:
    """The whole array; a row of it or a core where there is too little work for all."""
    if given.grid is not None:
        return [given.grid]
    if prod(shape.sizes[: shape.space]) >= device.cores:
        return [(device.rows, device.columns)]
    return list(dict.fromkeys([(device.rows, device.columns), (1, device.columns), (1, 1)]))


def _depths(given: GivenBundle) -> Iterator[Depths]:
    result = given.depth_result or 2
    for l2, l1 in ((2, 2), (1, 2), (2, 1), (1, 1)):
        if given.depth_l2 in (None, l2) and given.depth_l1 in (None, l1):
            yield Depths(l2, l1, result)
    if given.depth_result is None:
        yield Depths(given.depth_l2 or 1, given.depth_l1 or 1, 1)
    if (given.depth_l2 or 1) > 2 or (given.depth_l1 or 1) > 2:
        yield Depths(given.depth_l2 or 1, given.depth_l1 or 1, result)


def _smallest(
    shape: BundleShape, given: GivenBundle, spread: Spread, depths: Depths, device: Device
) -> tuple[int, ...] | None:
    tiles = shape.whole()
    if given.tile_l1 is not None:
        tiles[: shape.space] = given.tile_l1
    if given.stream is not None:
        for loop, tile in zip(shape.streamed, given.stream):
            tiles[loop] = tile
        return tuple(tiles) if fits(shape, tuple(tiles), spread, depths, device) else None
    for loop in shape.streamed:
        while not fits(shape, tuple(tiles), spread, depths, device) and tiles[loop] > 1:
            tiles[loop] = _previous_piece(shape, loop, tiles[loop])
    return tuple(tiles) if fits(shape, tuple(tiles), spread, depths, device) else None


def _shorter(shape: BundleShape, tiles: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The tiles, and tiles with streamed loops cut shorter: less of them at a time leaves room for the others."""
    found, now = [tiles], list(tiles)
    for loop in shape.streamed:
        while now[loop] > _SHORTEST:
            now[loop] = _previous_piece(shape, loop, _previous_piece(shape, loop, now[loop]))
            found.append(tuple(now))
    return found


def _previous_piece(shape: BundleShape, loop: int, piece: int) -> int:
    """The next smaller piece: a divisor that isn't much smaller than the piece, else half of it."""
    half = max(1, piece // 2)
    return next((d for d in range(piece - 1, half - 1, -1) if shape.sizes[loop] % d == 0), half)


def _grow(shape: BundleShape, given: GivenBundle, device: Device, start: Candidate, steps: int | None) -> Candidate:
    """The candidate after so many steps, or None: after as many as help."""
    best, cost = start, estimate(shape, start, device)
    for _ in range(steps) if steps is not None else count():
        options = [c for c in _larger(shape, given, best) if fits(shape, c.tiles, c.spread, c.depths, device)]
        ranked = [(estimate(shape, c, device), c.tiles, c) for c in options]
        if not ranked or min(ranked, key=lambda r: r[:2])[0] >= cost:
            break
        cost, _, best = min(ranked, key=lambda r: r[:2])
    return best


def _ordered(shape: BundleShape, given: GivenBundle, device: Device, best: Candidate) -> Candidate:
    """The candidate with the best order of its blocks."""
    if given.order is not None:
        return best
    return min((replace(best, order=o) for o in _orders(shape, best)), key=lambda c: estimate(shape, c, device))


def _larger(shape: BundleShape, given: GivenBundle, candidate: Candidate) -> Iterator[Candidate]:
    if given.tile_l1 is None:
        for loop in range(shape.space):
            share = -(-shape.sizes[loop] // candidate.spread.cores(loop))
            for size in _next_tiles(candidate.tiles[loop], share):
                yield _with(candidate, loop, size)
    if given.stream is None:
        for loop in shape.streamed:
            for size in _next_tiles(candidate.tiles[loop], shape.sizes[loop]):
                yield _with(candidate, loop, size)


def _next_tiles(tile: int, share: int) -> set[int]:
    """Twice the tile, and the tiles that cut a core's share into equal parts just above."""
    if tile >= share:
        return set()
    parts = -(-share // tile)
    return {min(2 * tile, share), -(-share // max(1, parts - 1)), -(-share // max(1, parts // 2)), share}


def _with(candidate: Candidate, loop: int, size: int) -> Candidate:
    tiles = tuple(size if own == loop else tile for own, tile in enumerate(candidate.tiles))
    return replace(candidate, tiles=tiles)


def _orders(shape: BundleShape, candidate: Candidate) -> Iterator[tuple[int, ...]]:
    counts = trips(shape, candidate.tiles, candidate.spread)
    stepping = [loop for loop in range(shape.space) if counts[loop] > 1]
    resting = [loop for loop in range(shape.space) if counts[loop] == 1]
    orders = permutations(stepping) if len(stepping) <= _ORDERED_LOOPS else iter([tuple(stepping)])
    for order in orders:
        yield (*resting, *order)
