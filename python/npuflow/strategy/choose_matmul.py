"""Completes what a user left open of a matmul's strategy: grid, tiles, packed shape, slots. Pure.

What is left open is listed, in multiples of the packed shape, and the candidate with the lowest estimate is taken. Rows
of the array go along m or along n. Fewer columns, or a single row, are tried where setting up transfers for all of
them takes longer than the work.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice, product
from typing import NamedTuple

from npuflow.ops.products import padded
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import BATCH, Group, K, M, N, Operand
from npuflow.strategy.lane_descriptors import served_rows
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.room import fits, fits_l1, fits_l2, l1_slots
from npuflow.strategy.strategy import Sizes, Strategy, Tile
from npuflow.target import Device

ANY_SHAPE_PACK: Tile = (4, 8, 8)
_Grid = tuple[int, int, int]
# Bytes of an element of all slots, and whether a tensor follows m and n.
_Term = tuple[int, bool, bool]
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# A tile may also cut a core's share of a dimension into so many equal parts.
_PARTS = range(1, 9)
# So many candidates are estimated, the most promising at a glance.
_LOOKED_AT = 100
# For a tile's m and n so many of the largest k that fit are candidates, and the largest that divides K.
_KS = 2
# Parts of the array are tried where the whole one's work takes at most so much of the time: what is set up does then.
_SMALL_SHARE = 0.5


@lru_cache(maxsize=256)
def complete(
    group: Group, given: Strategy, device: Device, *, whole_k: bool = False, array: tuple[int, int] | None = None
) -> Strategy:
    """The best strategy that keeps to what is given; what is given is not questioned (see feasibility).

    `array` are the rows and columns to be taken where nothing else is said.
    """
    search = _Search(group, given, device, whole_k, array)
    if given.grid or given.tile_l2 or given.tile_l1:
        return search.best([search.grid()]) or search.fallback()
    most = array or (served_rows(device), device.columns)
    best = search.best(search.grids(most))
    if best is not None and array is None and search.estimate.work_share(search.mapping(best)) < _SMALL_SHARE:
        best = search.best([grid for smaller in _smaller(most) for grid in search.grids(smaller)], best)
    return best or search.fallback()


def _smaller(array: tuple[int, int]) -> list[tuple[int, int]]:
    """Half and a quarter of the columns, and one row."""
    rows, columns = array
    return [part for part in ((rows, columns // 2), (rows, columns // 4), (1, columns)) if min(part) and part != array]


def _default_pack(types: tuple[str, str, str], device: Device) -> Tile:
    if device.accepts_any_shape(*types):
        return ANY_SHAPE_PACK
    shape = device.matmul_shapes(*types)[0]
    return (shape.m, shape.n, shape.k)


def _divisor(number: int, at_most: int) -> int:
    """The largest divisor of `number` up to `at_most`."""
    return next((d for d in range(at_most, 0, -1) if number % d == 0), 1)


class _Base(NamedTuple):
    """A tile on a grid, with slots in L1: what is looked at first."""

    grid: _Grid
    tile: Tile
    depth_l1: int


def _bytes(terms: Sequence[_Term], m: int, n: int) -> int:
    return sum(size * (m if by_m else 1) * (n if by_n else 1) for size, by_m, by_n in terms)


@dataclass(frozen=True)
class _Search:
    """What is looked for, and where. A grid is cores along m, cores along n, and whether it is turned."""

    group: Group
    given: Strategy
    device: Device
    whole_k: bool
    array: tuple[int, int] | None
    _l2_ks: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def pack(self) -> Tile:
        assert self.group.types is not None
        m, n, k = self.given.pack or _default_pack(self.group.types, self.device)
        return m, n, k

    def rank(self, strategy: Strategy) -> tuple[float, int]:
        """Less is better: seconds, then fewer kernel calls."""
        return self.estimate.seconds(self.mapping(strategy)), -strategy.tile_l1[2]

    @cached_property
    def estimate(self) -> Estimate:
        return Estimate(self.group, self.device)

    def mapping(self, strategy: Strategy) -> Mapping:
        return mapping_of(self.group, strategy, whole_k=self.whole_k)

    def best(self, grids: Sequence[_Grid], known: Strategy | None = None) -> Strategy | None:
        """The best strategy on these grids, or what is known if that is better; None where nothing fits."""
        bases = sorted((base for grid in grids for base in self._bases(grid)), key=self._glance)
        fitting = (list(self._with_l2_k(self._strategy_of(base))) for base in bases)
        found = [one for some in islice(filter(None, fitting), _LOOKED_AT) for one in some]
        found += [known] if known else []
        if not found:
            return None
        best = min(found, key=self.rank)
        return best if self.given.tile_l2 or self.given.tile_l1 else self._with_result_slots(best)

    def _tail_slots(self, base: Strategy) -> tuple[int | None, ...]:
        """Slots for what the tail reads: a second one first, where that isn't the same for all blocks.

        It shares channels with an operand, which would come no further than the first slot that isn't free.
        """
        given = self.given.depth_tail or self.given.tile_l2 or self.given.tile_l1
        if given or self.mapping(base).tails_come_once(self.group):
            return (self.given.depth_tail,)
        return 2, None

    def _with_result_slots(self, best: Strategy) -> Strategy:
        """The strategy with a second slot for results, where that fits and helps."""
        more = replace(best, depth_result=2)
        if self.given.depth_result is not None or not fits(self.group, self.mapping(more), self.device):
            return best
        return min((best, more), key=self.rank)

    def grids(self, array: tuple[int, int]) -> list[_Grid]:
        """The array's rows along m, and along n; no more cores than have work, unless the array is given."""
        found = []
        for turned in (0, 1) if self.given.turned is None else (self.given.turned,):
            along_m, along_n = (array[1], array[0]) if turned else array
            if self.array is None:
                along_m = min(along_m, -(-self.group.sizes[M] // self.pack[0]))
                along_n = min(along_n, -(-self.group.sizes[N] // self.pack[1]))
            found.append((along_m, along_n, turned))
        return found

    def grid(self) -> _Grid:
        """The grid that goes with what is given."""
        given, sizes, turned = self.given, self.group.sizes, self.given.turned or 0
        if given.grid:
            return given.grid[0], given.grid[1], turned
        if given.tile_l2 and given.tile_l1:
            return max(1, given.tile_l2[0] // given.tile_l1[0]), max(1, given.tile_l2[1] // given.tile_l1[1]), turned
        unit = given.tile_l1 or self.pack
        array = (served_rows(self.device), self.device.columns)
        along_m, along_n = array[::-1] if turned else array
        rows, columns = min(along_m, -(-sizes[M] // unit[0])), min(along_n, -(-sizes[N] // unit[1]))
        if not given.tile_l2:
            return rows, columns, turned
        in_m, in_n = given.tile_l2[0] // self.pack[0], given.tile_l2[1] // self.pack[1]
        return _divisor(in_m, rows), _divisor(in_n, columns), turned

    def _bases(self, grid: _Grid) -> Iterator[_Base]:
        """L1 tiles that fit with double buffering, or failing that without."""
        have = self.device.capacity_bytes(1, 1, 1)
        sizes_m, sizes_n, sizes_k = self._tile_sizes(grid)
        for depth in (2, 1) if self.given.depth_l1 is None else (self.given.depth_l1,):
            smallest = _Base(grid, (sizes_m[0], sizes_n[0], sizes_k[0]), depth)
            fixed, by_k = self._l1_terms(self.mapping(self._strategy_of(smallest)))
            found = False
            for m, n in product(sizes_m, sizes_n):
                room, per_k = have - _bytes(fixed, m, n), _bytes(by_k, m, n)
                fitting = sizes_k[: bisect_right(sizes_k, room // per_k)]
                dividing = [k for k in fitting if self.group.sizes[K] % k == 0]
                found = found or bool(fitting)
                for k in dict.fromkeys([*fitting[-_KS:], *dividing[-1:]]):
                    yield _Base(grid, (m, n, k), depth)
            if found:
                return

    def _l1_terms(self, mapping: Mapping) -> tuple[list[_Term], list[_Term]]:
        """What takes L1 whatever the tile's k is, and what takes so much for each of its k."""
        terms: tuple[list[_Term], list[_Term]] = ([], [])
        for tensor in self.group.tensors:
            if tensor.operand is not Operand.START:
                slots = l1_slots(self.group, mapping, tensor)
                terms[tensor.follows(K)].append((slots * tensor.element_bytes, tensor.follows(M), tensor.follows(N)))
        return terms

    def _glance(self, base: _Base) -> float:
        """A first guess that is quickly made: work, traffic and descriptors one after the other."""
        (along_m, along_n, turned), (m, n, k), device = base.grid, base.tile, self.device
        sizes, (lhs, rhs) = self.group.sizes, self.group.inputs[:2]
        blocks_m, blocks_n = -(-sizes[M] // (m * along_m)), -(-sizes[N] // (n * along_n))
        blocks, calls = sizes[BATCH] * blocks_m * blocks_n, -(-sizes[K] // k)
        arriving = max(m * lhs.element_bytes, n * rhs.element_bytes) * k / device.dma(1).bytes_per_cycle
        call, *tail = (self.estimate.cycles(number, (m, n, 1, k), self.pack) for number in range(len(self.group.work)))
        core = blocks * (calls * max(call, arriving) + sum(tail))
        again = (1 if blocks_n == 1 else blocks_m, 1) if calls == 1 else (blocks_m, blocks_n)
        moved = lhs.bytes(sizes) * again[1] + rhs.bytes(sizes) * again[0] + self.group.outputs[0].bytes(sizes)
        rows, columns = (along_n, along_m) if turned else (along_m, along_n)
        is_whole = sizes[M] % (m * along_m) == 0 and sizes[N] % (n * along_n) == 0
        descriptors = (sizes[BATCH] if is_whole else blocks) * (rows + columns * len(self.group.inputs))
        traffic = moved / device.dram.total_bytes_per_second
        return core / device.clock_hz + traffic + descriptors * device.control.descriptor_seconds

    def _strategy_of(self, base: _Base) -> Strategy:
        m, n, k = base.tile
        l2 = self.given.tile_l2 or (m * base.grid[0], n * base.grid[1], k)
        return self._strategy(base.grid, l2, base.tile, (self.given.depth_l2 or 2, base.depth_l1))

    def _tile_sizes(self, grid: _Grid) -> Sequence[Sequence[int]]:
        """What m, n and k of an L1 tile may be, in rising order."""
        given, sizes_of = self.given, self.group.sizes
        if given.tile_l1:
            return [[size] for size in given.tile_l1]
        per_core = (-(-sizes_of[M] // grid[0]), -(-sizes_of[N] // grid[1]), sizes_of[K])
        sizes = [_tile_sizes(extent, unit) for extent, unit in zip(per_core, self.pack)]
        if not given.tile_l2:
            return sizes
        dividing = [k for k in sizes[2] if given.tile_l2[2] % k == 0] or [self.pack[2]]
        return [*([size] for size in self._core_share(given.tile_l2, grid)), dividing]

    def _core_share(self, tile_l2: Sizes, grid: _Grid) -> tuple[int, int]:
        """A core's part of a given block, at least one instruction's shape."""
        return max(self.pack[0], tile_l2[0] // grid[0]), max(self.pack[1], tile_l2[1] // grid[1])

    def _with_l2_k(self, base: Strategy) -> Iterator[Strategy]:
        """The strategy with the best L2 k that fits, and the best that divides K; double-buffered if possible."""
        m, n, _ = base.tile_l2
        ks = (self.given.tile_l2[2],) if self.given.tile_l2 else self._ks(base.tile_l1[2])
        depths = (2, 1) if self.given.depth_l2 is None else (self.given.depth_l2,)
        for depth, tail in product(depths, self._tail_slots(base)):
            slots = replace(base, depth_l2=depth, depth_tail=tail)
            if not fits_l1(self.group, self.mapping(slots), self.device):
                continue
            fitting = (
                s for k in ks if fits_l2(self.group, self.mapping(s := replace(slots, tile_l2=(m, n, k))), self.device)
            )
            first = next(fitting, None)
            if first is None:
                continue
            yield first
            if self.group.sizes[K] % first.tile_l2[2]:
                yield from islice((s for s in fitting if self.group.sizes[K] % s.tile_l2[2] == 0), 1)
            return

    def _ks(self, tile_k: int) -> tuple[int, ...]:
        """Multiples of the L1 tile's k that cut K into nearly equal parts, little padding and long runs first."""
        if tile_k not in self._l2_ks:
            whole, lhs = self.group.sizes[K], self.group.inputs[0]
            steps = -(-whole // tile_k)
            parts = {-(-steps // count) for count in range(1, min(steps, 64) + 1)} | {1}
            cost = {
                k: padded(whole, k) / self.device.dram.efficiency(k * lhs.element_bytes, write=False)
                for k in (tile_k * part for part in parts)
            }
            self._l2_ks[tile_k] = tuple(sorted(cost, key=lambda k: (cost[k], k)))
        return self._l2_ks[tile_k]

    def fallback(self) -> Strategy:
        """Where nothing fits: the smallest tiles around what is given, for feasibility to say what is wrong with it."""
        given, grid, pack = self.given, self.grid(), self.pack
        l1 = given.tile_l1
        if not l1 and given.tile_l2:
            l1 = (*self._core_share(given.tile_l2, grid), pack[2])
        l1 = l1 or pack
        l2 = given.tile_l2 or (l1[0] * grid[0], l1[1] * grid[1], l1[2])
        return self._strategy(grid, l2, l1, (given.depth_l2 or 1, given.depth_l1 or 1))

    def _strategy(self, grid: _Grid, tile_l2: Sizes, tile_l1: Sizes, depths: tuple[int, int]) -> Strategy:
        """A strategy that keeps what is given beside tiles and depths."""
        (along_m, along_n, turned), (l2, l1), given = grid, depths, self.given
        return replace(
            given,
            grid=(along_m, along_n),
            tile_l2=tile_l2,
            tile_l1=tile_l1,
            pack=self.pack,
            depth_l2=l2,
            depth_l1=l1,
            turned=turned or given.turned,
        )


def _tile_sizes(extent: int, unit: int) -> list[int]:
    """Multiples of an instruction's size up to a core's share, and equal parts of that."""
    whole = padded(extent, unit)
    equal = {padded(-(-extent // parts), unit) for parts in _PARTS if parts * unit <= whole}
    return sorted({unit * step for step in _STEPS if unit * step <= whole} | equal)
