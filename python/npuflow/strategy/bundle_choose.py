"""Completes what a user left open of a bundle's strategy. Pure.

For every pair of loops that rows and columns could follow, the smallest tile that fits grows, always in the loop that
helps the estimate most, until nothing helps or fits. The estimate (the cores' time, arrival in L1 and L3 traffic, of
which the slowest counts whole and the others in part) only ranks candidates; it is not shown to anyone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, permutations, product
from math import prod

from npuflow.frontend.products import Products
from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
    Work,
    l1_bytes,
    l2_bytes,
    l2_descriptors,
    pieces,
    streams_through,
    traffic_bytes,
    trips,
)
from npuflow.strategy.bundle_strategy import BundleStrategy
from npuflow.strategy.vector_cycles import vector_cycles
from npuflow.target import Device

_BOTH_SHARE = 0.2
_BLOCK_SECONDS = 0.2e-6  # a block's waits on its way through two levels, roughly
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


@dataclass(frozen=True)
class _Candidate:
    tiles: tuple[int, ...]
    spread: Spread
    depths: Depths
    order: tuple[int, ...]


@lru_cache(maxsize=256)
def complete_bundle(shape: BundleShape, given: GivenBundle, device: Device) -> BundleStrategy | None:
    """The best strategy that keeps to what is given; None where not even the smallest tile fits."""
    direct = _best(shape, given, device) if not given.gather else None
    other = shape.with_gather() if given.gather != 0 else None
    gathered = _best(other, given, device) if other else None
    both = [(_estimate(s, c, device), s, c) for s, c in ((shape, direct), (other, gathered)) if s and c]
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


def _best(shape: BundleShape, given: GivenBundle, device: Device) -> _Candidate | None:
    """The best of what grows: all starts by a few steps, the better half of them by a few more, the best ones fully."""
    live = list(_starts(shape, given, device))
    while len(live) > _FINALISTS:
        live = sorted((_grow(shape, given, device, c, _STEPS) for c in live), key=lambda c: _estimate(shape, c, device))
        live = live[: max(_FINALISTS, len(live) // 2)]
    found = [_ordered(shape, given, device, _grow(shape, given, device, start, None)) for start in live]
    return min(
        found,
        key=lambda c: (_estimate(shape, c, device), prod(c.spread.grid), c.spread.rows != c.spread.columns),
        default=None,
    )


def smallest_tile_fits(shape: BundleShape, device: Device) -> bool:
    """Whether a tile of one in every loop of the space fits L1 at all, streaming what can be streamed."""
    tiles = shape.whole()
    for loop in shape.streamed:
        tiles[loop] = 1
    return l1_bytes(shape, tiles, Depths(1, 1, 1)) <= device.capacity_bytes(1, 1, 1)


def row_tiles(rows: int, device: Device) -> int:
    """Memory tiles that hold what is divided by rows: as many as divide the rows evenly."""
    return max(tiles for tiles in range(1, device.columns + 1) if rows % tiles == 0)


def fits(shape: BundleShape, tiles: tuple[int, ...], spread: Spread, depths: Depths, device: Device) -> bool:
    serving, dma = row_tiles(spread.grid[0], device), device.dma(2)
    return (
        l1_bytes(shape, tiles, depths) <= device.capacity_bytes(1, 1, 1)
        and l2_bytes(shape, tiles, spread, depths, serving) <= device.capacity_bytes(2, 1, 1)
        and l2_descriptors(shape, spread, depths, serving, dma.descriptor_groups)
        <= dma.descriptors // dma.descriptor_groups
    )


def _starts(shape: BundleShape, given: GivenBundle, device: Device) -> Iterator[_Candidate]:
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
                starts += [_Candidate(length, spread, depths, given.order or tuple(loops)) for length in lengths]
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


def _grow(shape: BundleShape, given: GivenBundle, device: Device, start: _Candidate, steps: int | None) -> _Candidate:
    """The candidate after so many steps, or None: after as many as help."""
    best, cost = start, _estimate(shape, start, device)
    for _ in range(steps) if steps is not None else count():
        options = [c for c in _larger(shape, given, best) if fits(shape, c.tiles, c.spread, c.depths, device)]
        ranked = [(_estimate(shape, c, device), c.tiles, c) for c in options]
        if not ranked or min(ranked, key=lambda r: r[:2])[0] >= cost:
            break
        cost, _, best = min(ranked, key=lambda r: r[:2])
    return best


def _ordered(shape: BundleShape, given: GivenBundle, device: Device, best: _Candidate) -> _Candidate:
    """The candidate with the best order of its blocks."""
    if given.order is not None:
        return best
    return min((replace(best, order=o) for o in _orders(shape, best)), key=lambda c: _estimate(shape, c, device))


def _larger(shape: BundleShape, given: GivenBundle, candidate: _Candidate) -> Iterator[_Candidate]:
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


def _with(candidate: _Candidate, loop: int, size: int) -> _Candidate:
    tiles = tuple(size if own == loop else tile for own, tile in enumerate(candidate.tiles))
    return replace(candidate, tiles=tiles)


def _orders(shape: BundleShape, candidate: _Candidate) -> Iterator[tuple[int, ...]]:
    counts = trips(shape, candidate.tiles, candidate.spread)
    stepping = [loop for loop in range(shape.space) if counts[loop] > 1]
    resting = [loop for loop in range(shape.space) if counts[loop] == 1]
    orders = permutations(stepping) if len(stepping) <= _ORDERED_LOOPS else iter([tuple(stepping)])
    for order in orders:
        yield (*resting, *order)


def _estimate(shape: BundleShape, candidate: _Candidate, device: Device) -> float:
    """Seconds, roughly."""
    counts = trips(shape, candidate.tiles, candidate.spread)
    blocks = prod(counts)
    calls = blocks * pieces(shape, candidate.tiles)
    clock = device.clock_hz
    compute = calls * sum(work_cycles(work, candidate.tiles, device) for work in shape.work) / clock
    arrival = calls * _arrival_cycles(shape, candidate, device) / clock
    memory = 0.0
    moved = traffic_bytes(shape, candidate.tiles, candidate.spread, candidate.order)
    column = candidate.spread.column(candidate.tiles)
    for tensor in shape.tensors:
        if tensor.role is not Role.LOCAL:
            efficiency = device.dram.efficiency(tensor.run_bytes(column), write=tensor.role is Role.OUTPUT)
            memory += moved[tensor.name] / (device.dram.total_bytes_per_second * efficiency)
    times = (compute, arrival, memory)
    single = (candidate.depths.l1 == 1) + (candidate.depths.l2 == 1)
    overlap = _BOTH_SHARE + single
    return max(times) + overlap * (sum(times) - max(times)) / 2 + blocks * _BLOCK_SECONDS


def _arrival_cycles(shape: BundleShape, candidate: _Candidate, device: Device) -> float:
    """A tile's way into L1 over two channels, or out over one."""
    inward = [t.l1_bytes(candidate.tiles) for t in shape.tensors if t.role is Role.INPUT and _moves(shape, t)]
    outward = [t.bytes(candidate.tiles) for t in shape.tensors if t.role is Role.OUTPUT]
    lanes = max(sum(inward) / 2, max(inward, default=0))
    return max(lanes, sum(outward) / pieces(shape, candidate.tiles)) / device.dma(1).bytes_per_cycle


def _moves(shape: BundleShape, tensor: BundleTensor) -> bool:
    return streams_through(shape, tensor) or any(tensor.follows(loop) for loop in range(shape.space))


def work_cycles(work: Work, tiles: tuple[int, ...], device: Device) -> float:
    """One op on one tile: matrix instructions for sums of products whose types have them, else vector operations."""
    engine = device.engines[0]
    own = [tiles[loop] for loop in work.loops]
    if work.products is not None and any(shape.types == work.products.types for shape in device.matmuls):
        return engine.call_cycles + matrix_cycles(work.products, own, device)
    return vector_cycles(work.vector, own, device)


def matrix_cycles(products: Products, tiles: Sequence[int], device: Device) -> float:
    """Matrix instructions for a tile, at one per cycle or as the device's rate says."""
    shape = device.matmul_shapes(*products.types)[0]
    unit = (1, 1, 1) if shape.any_shape else (shape.m, shape.n, shape.k)
    return products.issued(tiles, *unit) / shape.macs_per_cycle
