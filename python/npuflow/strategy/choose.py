"""Completes what a user left open of a strategy: grid, tiles, packed shape, depths. Pure.

What is left open is enumerated over multiples of the packed shape, and the candidate with the lowest estimate is
taken: the larger of the cores' time on the padded shape and L3 traffic time, plus a share of the smaller one, for
what doesn't overlap. The estimate only ranks candidates; it is not shown to anyone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from npuflow.strategy.footprint import (
    Problem,
    fullest_l2_bytes,
    l1_buffers,
    l2_buffers,
    l3_traffic_bytes,
    padded,
    padded_macs,
    total_bytes,
)
from npuflow.strategy.strategy import Strategy, Tile
from npuflow.target import Device

ANY_SHAPE_PACK: Tile = (4, 8, 8)
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_BOTH_SHARE = 0.2


@dataclass(frozen=True)
class Given:
    """What is said of a strategy; None where nothing is."""

    grid: tuple[int, int] | None = None
    tile_l2: Tile | None = None
    tile_l1: Tile | None = None
    pack: Tile | None = None
    depth_l2: int | None = None
    depth_l1: int | None = None
    depth_result: int = 1
    turned: int = 0
    depth_lhs: tuple[int, ...] = ()
    depth_rhs: tuple[int, ...] = ()


@lru_cache(maxsize=256)
def complete(problem: Problem, given: Given, device: Device, whole_k: bool) -> Strategy:
    """The best strategy that keeps to what is given; what is given is not questioned (see feasibility)."""
    pack = given.pack or _default_pack(problem, device)
    candidates = [
        fitted
        for base in _candidates(problem, given, device, pack)
        if (fitted := _with_l2_k(problem, given, device, base, whole_k)) is not None
    ]
    if not candidates:
        return _fallback(problem, given, device, pack)
    return min(candidates, key=lambda s: _estimate(problem, s, device))


def _default_pack(problem: Problem, device: Device) -> Tile:
    if device.accepts_any_shape(*problem.types):
        return ANY_SHAPE_PACK
    shape = device.matmul_shapes(*problem.types)[0]
    return (shape.m, shape.n, shape.k)


def _default_grid(problem: Problem, device: Device, pack: Tile) -> tuple[int, int]:
    """As many rows and columns as have work."""
    return min(device.rows, -(-problem.m // pack[0])), min(device.columns, -(-problem.n // pack[1]))


def _grid(problem: Problem, given: Given, device: Device, pack: Tile) -> tuple[int, int]:
    if given.grid is not None:
        return given.grid
    if given.tile_l2 is not None and given.tile_l1 is not None:
        return max(1, given.tile_l2[0] // given.tile_l1[0]), max(1, given.tile_l2[1] // given.tile_l1[1])
    rows, columns = _default_grid(problem, device, given.tile_l1 or pack)
    if given.tile_l2 is None:
        return rows, columns
    return _divisor(given.tile_l2[0] // pack[0], rows), _divisor(given.tile_l2[1] // pack[1], columns)


def _divisor(number: int, at_most: int) -> int:
    """The largest divisor of `number` up to `at_most`."""
    return next((d for d in range(at_most, 0, -1) if number % d == 0), 1)


def _candidates(problem: Problem, given: Given, device: Device, pack: Tile) -> Iterator[Strategy]:
    """Strategies without a final L2 k: every L1 tile that fits with double buffering, or failing that without."""
    grid = _grid(problem, given, device, pack)
    have = device.capacity_bytes(1, 1, 1)
    for depth in (2, 1) if given.depth_l1 is None else (given.depth_l1,):
        found = False
        for tile in _l1_tiles(problem, given, grid, pack):
            l2 = (tile[0] * grid[0], tile[1] * grid[1], tile[2])
            strategy = _strategy(given, grid, given.tile_l2 or l2, tile, pack, (given.depth_l2 or 2, depth))
            if total_bytes(l1_buffers(problem, strategy)) <= have:
                found = True
                yield strategy
        if found:
            return


def _l1_tiles(problem: Problem, given: Given, grid: tuple[int, int], pack: Tile) -> Iterator[Tile]:
    if given.tile_l1 is not None:
        yield given.tile_l1
        return
    per_core = (-(-problem.m // grid[0]), -(-problem.n // grid[1]), problem.k)
    sizes = [
        [p * s for s in _STEPS if p * s < padded(extent, p) + p and p * s <= padded(extent, p)]
        for p, extent in zip(pack, per_core)
    ]
    if given.tile_l2 is not None:
        sizes[0], sizes[1] = ([size] for size in _core_share(given.tile_l2, grid, pack))
        sizes[2] = [k for k in sizes[2] if given.tile_l2[2] % k == 0] or [pack[2]]
    for m in sizes[0]:
        for n in sizes[1]:
            for k in sizes[2]:
                yield (m, n, k)


def _core_share(tile_l2: Tile, grid: tuple[int, int], pack: Tile) -> tuple[int, int]:
    """A core's part of a given block, at least one instruction's shape."""
    return max(pack[0], tile_l2[0] // grid[0]), max(pack[1], tile_l2[1] // grid[1])


def _with_l2_k(problem: Problem, given: Given, device: Device, base: Strategy, whole_k: bool) -> Strategy | None:
    """The strategy with the best k of its L2 tile that fits, double-buffered if possible; None if nothing fits."""
    have = _l2_capacity(device, base.array)
    m, n, _ = base.tile_l2
    ks = [given.tile_l2[2]] if given.tile_l2 else _l2_ks(problem, device, base.tile_l1[2])
    for depth in (2, 1) if given.depth_l2 is None else (given.depth_l2,):
        for k in ks:
            strategy = replace(base, tile_l2=(m, n, k), depth_l2=depth)
            buffers = l2_buffers(problem, strategy, whole_k)
            if fullest_l2_bytes(buffers, strategy, device.columns) <= have:
                return strategy
    return None


@lru_cache(maxsize=1024)
def _l2_ks(problem: Problem, device: Device, tile_k: int) -> tuple[int, ...]:
    """Multiples of the L1 tile's k that cut K into nearly equal parts: little padding and long runs in DRAM first."""
    steps = -(-problem.k // tile_k)
    parts = {-(-steps // count) for count in range(1, min(steps, 64) + 1)} | {1}

    def cost(k: int) -> float:
        return padded(problem.k, k) / device.dram.efficiency(k * problem.lhs_bytes, write=False)

    return tuple(sorted((tile_k * part for part in parts), key=lambda k: (cost(k), k)))


def _l2_capacity(device: Device, grid: tuple[int, int]) -> int:
    rows, columns = min(grid[0], device.rows), min(grid[1], device.columns)
    return device.capacity_bytes(2, rows, columns)


def _estimate(problem: Problem, strategy: Strategy, device: Device) -> tuple[float, int]:
    """Seconds, roughly; then fewer kernel calls."""
    m, n, k = strategy.tile_l1
    cores = strategy.grid[0] * strategy.grid[1]
    calls = padded_macs(problem, strategy) / (m * n * k * cores)
    work = calls * _call_cycles(problem, strategy, device) / device.clock_hz
    traffic = l3_traffic_bytes(problem, strategy) / device.dram.total_bytes_per_second
    slower, faster = max(work, traffic), min(work, traffic)
    single = (strategy.depth_l1 == 1) + (strategy.depth_l2 == 1)
    return slower + _BOTH_SHARE * faster + single * faster, -k


def _call_cycles(problem: Problem, strategy: Strategy, device: Device) -> float:
    """One kernel call: its multiplications, or the arrival of its operands where that takes longer.

    Each piece of the accumulator is loaded and stored once per call, beside k / pack k multiplications.
    """
    m, n, k = strategy.tile_l1
    rate = device.matmul_shapes(*problem.types)[0].macs_per_cycle
    compute = m * n * k / rate * (1 + 2 * strategy.pack[2] / k)
    arrival = max(m * k * problem.lhs_bytes, k * n * problem.rhs_bytes) / device.dma(1).bytes_per_cycle
    return max(compute, arrival) + _BOTH_SHARE * min(compute, arrival) + device.engines[0].call_cycles


def _fallback(problem: Problem, given: Given, device: Device, pack: Tile) -> Strategy:
    """Where nothing fits: the smallest tiles around what is given, for feasibility to say what is wrong with it."""
    grid = _grid(problem, given, device, pack)
    l1 = given.tile_l1
    if l1 is None and given.tile_l2 is not None:
        l1 = (*_core_share(given.tile_l2, grid, pack), pack[2])
    l1 = l1 or pack
    l2 = given.tile_l2 or (l1[0] * grid[0], l1[1] * grid[1], l1[2])
    return _strategy(given, grid, l2, l1, pack, (given.depth_l2 or 1, given.depth_l1 or 1))


def _strategy(
    given: Given, grid: tuple[int, int], tile_l2: Tile, tile_l1: Tile, pack: Tile, depths: tuple[int, int]
) -> Strategy:
    """A strategy that keeps what is given beside tiles and depths."""
    return Strategy(
        grid, tile_l2, tile_l1, pack, *depths, given.depth_result, given.turned, given.depth_lhs, given.depth_rhs
    )
