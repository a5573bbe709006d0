"""Completes what a user left open of a bundle's strategy. Pure.

For every pair of loops that rows and columns could follow, the smallest tile that fits grows as far as that helps the
estimate (`bundle_estimate`): `bundle_search`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from npuflow.strategy.bundle_estimate import Candidate, estimate
from npuflow.strategy.bundle_room import l1_bytes, l1_descriptors, l2_bytes, l2_descriptors
from npuflow.strategy.bundle_search import BundleSearch
from npuflow.strategy.bundle_shape import BundleShape, Depths, Spread
from npuflow.strategy.bundle_strategy import BundleStrategy, GivenBundle
from npuflow.strategy.footprint import row_tiles
from npuflow.strategy.lane_descriptors import TileDma, served_rows
from npuflow.target import Device

_SHORTEST = 16  # pieces of a streamed loop that growing starts from are no shorter


@lru_cache(maxsize=256)
def complete_bundle(shape: BundleShape, given: GivenBundle, device: Device) -> BundleStrategy | None:
    """The best strategy that keeps to what is given; None where not even the smallest tile fits."""
    shapes = (shape if not given.gather else None, shape.with_gather() if given.gather != 0 else None)
    found = [(one, best) for one in shapes if one and (best := _best(one, given, device))]
    if not found:
        return None
    shape, best = min(found, key=lambda each: estimate(each[0], each[1], device))
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
        int(best.depths.hold),
    )


def _best(shape: BundleShape, given: GivenBundle, device: Device) -> Candidate | None:
    search = BundleSearch(
        shape,
        given,
        lambda candidate: estimate(shape, candidate, device),
        lambda candidate: fits(shape, candidate, device),
    )
    return search.best([held for start in _starts(shape, given, device) for held in _held(shape, given, device, start)])


def _held(shape: BundleShape, given: GivenBundle, device: Device, start: Candidate) -> Iterator[Candidate]:
    """The candidate as it is, and with what all blocks need held in L2 where that is cut into pieces and fits."""
    if not given.hold:
        yield start
    held = replace(start, depths=replace(start.depths, hold=True))
    if shape.streamed and given.hold != 0 and fits(shape, held, device):
        yield held


def smallest_tile_fits(shape: BundleShape, device: Device) -> bool:
    """Whether a tile of one in every loop of the space fits L1 at all, streaming what can be streamed."""
    tiles = shape.whole()
    for loop in shape.streamed:
        tiles[loop] = 1
    return l1_bytes(shape, tiles, Depths(1, 1, 1), device.level(1).alignment_bytes) <= device.capacity_bytes(1, 1, 1)


def fits(shape: BundleShape, candidate: Candidate, device: Device) -> bool:
    """Whether a tile fits L1, and its block L2: with the zeros around it, or clipped where L2's DMA inserts them."""
    tiles, spread, depths = candidate.tiles, candidate.spread, candidate.depths
    if l1_descriptors(shape, tiles, spread, depths) > device.dma(1).descriptors:
        return False
    if l1_bytes(shape, tiles, depths, device.level(1).alignment_bytes, spread) > device.capacity_bytes(1, 1, 1):
        return False
    serving, dma = row_tiles(spread.grid[0], device.columns), device.dma(2)
    groups, have = dma.descriptor_groups, device.capacity_bytes(2, 1, 1)
    tile = TileDma.of(device, spread.grid[0])
    return _hands_out(shape, candidate, device) and any(
        l2_bytes(shape, tiles, spread, candidate.order, depths, serving, clips) <= have
        and l2_descriptors(shape, tiles, spread, depths, serving, tile, clips) <= dma.descriptors // groups
        for clips in ((False, True) if dma.pads_with_zeros else (False,))
    )


def _hands_out(shape: BundleShape, candidate: Candidate, device: Device) -> bool:
    """Whether pieces of what is held leave L2 by one pattern, and so take no descriptors of their own."""
    limits = device.dma(2).pattern
    for tensor in shape.tensors:
        whole = candidate.in_l2(shape, tensor)
        cut = [loop for loop in shape.streamed if tensor.follows(loop) and candidate.tiles[loop] < whole[loop]]
        dims = len(tensor.loops) if tensor.gathered else len(tensor.dims)
        turns = prod(-(-whole[loop] // candidate.tiles[loop]) for loop in cut)
        if cut and whole is not candidate.tiles and (dims + len(cut) > limits.dims + 1 or turns > limits.iteration_max):
            return False
    return True


def _starts(shape: BundleShape, given: GivenBundle, device: Device) -> list[Candidate]:
    """The smallest tiles that fit, on fewer rows where memory tiles can't serve all of them."""
    rows = served_rows(device)
    found: list[Candidate] = []
    while not found and rows:
        found = _starts_on(_grids(shape, given, (rows, device.columns)), shape, given, device)
        rows = rows // 2 if given.grid is None else 0
    return found


def _starts_on(grids: list[tuple[int, int]], shape: BundleShape, given: GivenBundle, device: Device) -> list[Candidate]:
    """The smallest tile that fits, for every way to spread the grid; double-buffered where that fits anywhere."""
    loops = range(shape.space)
    wide = [loop for loop in loops if shape.sizes[loop] > 1] or [0]
    pairs = [given.spread] if given.spread else list(product(wide, wide))
    for depths in _depths(shape, given, device):
        starts = []
        for grid, (rows, columns) in product(grids, pairs):
            spread = Spread(grid, rows, columns)
            first = Candidate(tuple(shape.whole()), spread, depths, given.order or tuple(loops))
            smallest = _smallest(shape, given, first, device)
            if smallest is not None:
                lengths = [smallest.tiles] if given.stream is not None else _shorter(shape, smallest.tiles)
                starts += [replace(smallest, tiles=length) for length in lengths]
        if starts:
            return starts
    return []


def _grids(shape: BundleShape, given: GivenBundle, array: tuple[int, int]) -> list[tuple[int, int]]:
    """The whole array; a row of it or a core where there is too little work for all."""
    if given.grid is not None:
        return [given.grid]
    if prod(shape.sizes[: shape.space]) >= prod(array):
        return [array]
    return list(dict.fromkeys([array, (1, array[1]), (1, 1)]))


def _depths(shape: BundleShape, given: GivenBundle, device: Device) -> Iterator[Depths]:
    """Slots, the best first. A result leaves while the next one's products are summed, and so needs one at first."""
    result = given.depth_result or (1 if _multiplies(shape, device) else 2)
    for l2, l1 in ((2, 2), (1, 2), (2, 1), (1, 1)):
        if given.depth_l2 in (None, l2) and given.depth_l1 in (None, l1):
            yield Depths(l2, l1, result)
    if given.depth_result is None and result > 1:
        yield Depths(given.depth_l2 or 1, given.depth_l1 or 1, 1)
    if (given.depth_l2 or 1) > 2 or (given.depth_l1 or 1) > 2:
        yield Depths(given.depth_l2 or 1, given.depth_l1 or 1, result)


def _multiplies(shape: BundleShape, device: Device) -> bool:
    """Whether a bundle sums products that matrix instructions do."""
    return any(work.products and device.has_instruction(work.products.types) for work in shape.work)


def _smallest(shape: BundleShape, given: GivenBundle, first: Candidate, device: Device) -> Candidate | None:
    tiles = shape.whole()
    if given.tile_l1 is not None:
        tiles[: shape.space] = given.tile_l1
    if given.stream is not None:
        for loop, tile in zip(shape.streamed, given.stream):
            tiles[loop] = tile
    found = replace(first, tiles=tuple(tiles))
    for loop in shape.streamed if given.stream is None else ():
        while not fits(shape, found, device) and found.tiles[loop] > 1:
            found = found.with_tile(loop, _previous_piece(shape, loop, found.tiles[loop]))
    return found if fits(shape, found, device) else None


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
    size, half = shape.sizes[loop], max(1, piece // 2)
    if size // half < half:  # fewer pieces to try than lengths of them
        return next((size // n for n in range(-(-size // (piece - 1)), size // half + 1) if size % n == 0), half)
    return next((d for d in range(piece - 1, half - 1, -1) if size % d == 0), half)
