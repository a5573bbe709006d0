"""Completes what a user left open of a strategy: grid, tiles, packed shape, depths. Pure.

What is left open is enumerated over multiples of the packed shape, and the candidate with the lowest estimate is taken.
Rows of the array go along m or along n. Fewer columns, or a single row, are tried where setting up transfers for all of
them takes longer than the work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import islice, product

from npuflow.ops.products import padded
from npuflow.strategy.footprint import (
    Problem,
    fullest_l2_bytes,
    l1_buffers,
    l2_buffers,
    l2_descriptors,
    total_bytes,
)
from npuflow.strategy.lane_descriptors import served_rows
from npuflow.strategy.matmul_estimate import MatmulEstimate
from npuflow.strategy.strategy import Strategy, Tile
from npuflow.target import Device

ANY_SHAPE_PACK: Tile = (4, 8, 8)
_Grid = tuple[int, int, int]
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# A tile may also cut a core's share of a dimension into so many equal parts.
_PARTS = range(1, 9)
# So many candidates are estimated, the most promising at a glance.
_LOOKED_AT = 150
# For a tile's m and n so many of the largest k that fit are candidates, and the largest that divides K.
_KS = 2
# Parts of the array are tried where the whole one's work takes at most so much of the time: what is set up does then.
_SMALL_SHARE = 0.5


@dataclass(frozen=True)
class Given:
    """What is said of a strategy; None where nothing is. `array` are the rows and columns to be taken."""

    grid: tuple[int, int] | None = None
    tile_l2: Tile | None = None
    tile_l1: Tile | None = None
    pack: Tile | None = None
    depth_l2: int | None = None
    depth_l1: int | None = None
    depth_result: int | None = None
    turned: int | None = None
    depth_lhs: tuple[int, ...] = ()
    depth_rhs: tuple[int, ...] = ()
    depth_tail: int | None = None
    array: tuple[int, int] | None = None


@lru_cache(maxsize=256)
def complete(problem: Problem, given: Given, device: Device, whole_k: bool) -> Strategy:
    """The best strategy that keeps to what is given; what is given is not questioned (see feasibility)."""
    search = _Search(problem, given, device, whole_k)
    is_open = given.grid is None and given.tile_l2 is None and given.tile_l1 is None
    if not is_open:
        return search.best([search.grid()]) or search.fallback()
    array = given.array or (served_rows(device), device.columns)
    best = search.best(search.grids(array))
    if best is not None and given.array is None and search.estimate.work_share(best) < _SMALL_SHARE:
        best = search.best([grid for smaller in _smaller(array) for grid in search.grids(smaller)], best)
    return best or search.fallback()


def _smaller(array: tuple[int, int]) -> list[tuple[int, int]]:
    """Half and a quarter of the columns, and one row."""
    rows, columns = array
    return [part for part in ((rows, columns // 2), (rows, columns // 4), (1, columns)) if min(part) and part != array]


def _default_pack(problem: Problem, device: Device) -> Tile:
    if device.accepts_any_shape(*problem.types):
        return ANY_SHAPE_PACK
    shape = device.matmul_shapes(*problem.types)[0]
    return (shape.m, shape.n, shape.k)


def _divisor(number: int, at_most: int) -> int:
    """The largest divisor of `number` up to `at_most`."""
    return next((d for d in range(at_most, 0, -1) if number % d == 0), 1)


@dataclass(frozen=True)
class _Search:
    """What is looked for, and where. A grid is cores along m, cores along n, and whether it is turned."""

    problem: Problem
    given: Given
    device: Device
    whole_k: bool
    _l2_ks: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def pack(self) -> Tile:
        return self.given.pack or _default_pack(self.problem, self.device)

    @cached_property
    def estimate(self) -> MatmulEstimate:
        return MatmulEstimate(self.problem, self.device)

    def best(self, grids: Sequence[_Grid], known: Strategy | None = None) -> Strategy | None:
        """The best strategy on these grids, or what is known if that is better; None where nothing fits."""
        bases = sorted((base for grid in grids for base in self._candidates(grid)), key=self.estimate.glance)
        fitting = (list(self._with_l2_k(base)) for base in bases)
        found = [one for some in islice(filter(None, fitting), _LOOKED_AT) for one in some]
        found += [known] if known else []
        if not found:
            return None
        best = min(found, key=self.estimate.rank)
        if self.given.tile_l2 or self.given.tile_l1:
            return best
        return self._with_result_slots(self._with_tail_slots(best))

    def _with_tail_slots(self, best: Strategy) -> Strategy:
        """The strategy with a second slot for what the tail reads, where that isn't the same for all blocks and fits.

        It shares channels with an operand, which would come no further than the first slot that isn't free.
        """
        m, n, _ = best.tile_l2
        along_m, along_n = m < self.problem.m, n < self.problem.n
        comes_again = any((t.along_m and along_m) or (t.along_n and along_n) for t in self.problem.tail_operands)
        if not comes_again or self.given.depth_tail is not None:
            return best
        more, dma = replace(best, depth_tail=2), self.device.dma(2)
        has_room = l2_descriptors(self.problem, more) <= dma.descriptors // dma.descriptor_groups
        return more if has_room and self._fits(more) else best

    def _with_result_slots(self, best: Strategy) -> Strategy:
        """The strategy with a second slot for results, where that fits and helps."""
        more = replace(best, depth_result=2)
        if self.given.depth_result is not None or not self._fits(more):
            return best
        return min((best, more), key=self.estimate.rank)

    def grids(self, array: tuple[int, int]) -> list[_Grid]:
        """The array's rows along m, and along n; no more cores than have work, unless the array is given."""
        found = []
        for turned in (0, 1) if self.given.turned is None else (self.given.turned,):
            along_m, along_n = (array[1], array[0]) if turned else array
            if self.given.array is None:
                along_m = min(along_m, -(-self.problem.m // self.pack[0]))
                along_n = min(along_n, -(-self.problem.n // self.pack[1]))
            found.append((along_m, along_n, turned))
        return found

    def grid(self) -> _Grid:
        """The grid that goes with what is given."""
        given, problem, turned = self.given, self.problem, self.given.turned or 0
        if given.grid is not None:
            return (*given.grid, turned)
        if given.tile_l2 is not None and given.tile_l1 is not None:
            return max(1, given.tile_l2[0] // given.tile_l1[0]), max(1, given.tile_l2[1] // given.tile_l1[1]), turned
        unit = given.tile_l1 or self.pack
        array = (served_rows(self.device), self.device.columns)
        along_m, along_n = array[::-1] if turned else array
        rows, columns = min(along_m, -(-problem.m // unit[0])), min(along_n, -(-problem.n // unit[1]))
        if given.tile_l2 is None:
            return rows, columns, turned
        pack = self.pack
        return _divisor(given.tile_l2[0] // pack[0], rows), _divisor(given.tile_l2[1] // pack[1], columns), turned

    def _candidates(self, grid: _Grid) -> Iterator[Strategy]:
        """Strategies without a final L2 k: L1 tiles that fit with double buffering, or failing that without."""
        given, have = self.given, self.device.capacity_bytes(1, 1, 1)
        sizes_m, sizes_n, sizes_k = self._tile_sizes(grid)

        def strategy(m: int, n: int, depth_l1: int, k: int) -> Strategy:
            l2 = given.tile_l2 or (m * grid[0], n * grid[1], k)
            return self._strategy(grid, l2, (m, n, k), (given.depth_l2 or 2, depth_l1))

        for depth in (2, 1) if given.depth_l1 is None else (given.depth_l1,):
            found = False
            for m, n in product(sizes_m, sizes_n):
                candidates = partial(strategy, m, n, depth)
                too_large = bisect_left(sizes_k, True, key=lambda k: self._l1_bytes(candidates(k)) > have)
                fitting = sizes_k[:too_large]
                dividing = [k for k in fitting if self.problem.k % k == 0]
                found = found or too_large > 0
                yield from map(candidates, dict.fromkeys([*fitting[-_KS:], *dividing[-1:]]))
            if found:
                return

    def _tile_sizes(self, grid: _Grid) -> Sequence[Sequence[int]]:
        """What m, n and k of an L1 tile may be, in rising order."""
        given, problem = self.given, self.problem
        if given.tile_l1 is not None:
            return [[size] for size in given.tile_l1]
        per_core = (-(-problem.m // grid[0]), -(-problem.n // grid[1]), problem.k)
        sizes = [_tile_sizes(extent, unit) for extent, unit in zip(per_core, self.pack)]
        if given.tile_l2 is None:
            return sizes
        dividing = [k for k in sizes[2] if given.tile_l2[2] % k == 0] or [self.pack[2]]
        return [*([size] for size in self._core_share(given.tile_l2, grid)), dividing]

    def _core_share(self, tile_l2: Tile, grid: _Grid) -> tuple[int, int]:
        """A core's part of a given block, at least one instruction's shape."""
        return max(self.pack[0], tile_l2[0] // grid[0]), max(self.pack[1], tile_l2[1] // grid[1])

    def _with_l2_k(self, base: Strategy) -> Iterator[Strategy]:
        """The strategy with the best L2 k that fits, and the best that divides K; double-buffered if possible."""
        m, n, _ = base.tile_l2
        ks = (self.given.tile_l2[2],) if self.given.tile_l2 else self._ks(base.tile_l1[2])
        for depth in (2, 1) if self.given.depth_l2 is None else (self.given.depth_l2,):
            fitting = (s for k in ks if self._fits(s := replace(base, tile_l2=(m, n, k), depth_l2=depth)))
            first = next(fitting, None)
            if first is None:
                continue
            yield first
            if self.problem.k % first.tile_l2[2]:
                yield from islice((s for s in fitting if self.problem.k % s.tile_l2[2] == 0), 1)
            return

    def _fits(self, strategy: Strategy) -> bool:
        device, array = self.device, strategy.array
        have = device.capacity_bytes(2, min(array[0], device.rows), min(array[1], device.columns))
        l2 = fullest_l2_bytes(l2_buffers(self.problem, strategy, self.whole_k), strategy, device.columns)
        return l2 <= have and self._l1_bytes(strategy) <= device.capacity_bytes(1, 1, 1)

    def _l1_bytes(self, strategy: Strategy) -> int:
        return total_bytes(l1_buffers(self.problem, strategy))

    def _ks(self, tile_k: int) -> tuple[int, ...]:
        """Multiples of the L1 tile's k that cut K into nearly equal parts, little padding and long runs first."""
        if tile_k not in self._l2_ks:
            problem = self.problem
            steps = -(-problem.k // tile_k)
            parts = {-(-steps // count) for count in range(1, min(steps, 64) + 1)} | {1}
            cost = {
                k: padded(problem.k, k) / self.device.dram.efficiency(k * problem.lhs_bytes, write=False)
                for k in (tile_k * part for part in parts)
            }
            self._l2_ks[tile_k] = tuple(sorted(cost, key=lambda k: (cost[k], k)))
        return self._l2_ks[tile_k]

    def fallback(self) -> Strategy:
        """Where nothing fits: the smallest tiles around what is given, for feasibility to say what is wrong with it."""
        given, grid, pack = self.given, self.grid(), self.pack
        l1 = given.tile_l1
        if l1 is None and given.tile_l2 is not None:
            l1 = (*self._core_share(given.tile_l2, grid), pack[2])
        l1 = l1 or pack
        l2 = given.tile_l2 or (l1[0] * grid[0], l1[1] * grid[1], l1[2])
        return self._strategy(grid, l2, l1, (given.depth_l2 or 1, given.depth_l1 or 1))

    def _strategy(self, grid: _Grid, tile_l2: Tile, tile_l1: Tile, depths: tuple[int, int]) -> Strategy:
        """A strategy that keeps what is given beside tiles and depths."""
        given, (along_m, along_n, turned) = self.given, grid
        slots = (*depths, given.depth_result or 1, turned, given.depth_lhs, given.depth_rhs, given.depth_tail or 1)
        return Strategy((along_m, along_n), tile_l2, tile_l1, self.pack, *slots)


def _tile_sizes(extent: int, unit: int) -> list[int]:
    """Multiples of an instruction's size up to a core's share, and equal parts of that."""
    whole = padded(extent, unit)
    equal = {padded(-(-extent // parts), unit) for parts in _PARTS if parts * unit <= whole}
    return sorted({unit * step for step in _STEPS if unit * step <= whole} | equal)
