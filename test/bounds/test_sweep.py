"""Where what bounds a matmul changes, what lies inside of a device's levels, and what its machine can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npuflow.bounds.balance import intensity, machine_balance, peak_ops_per_second
from npuflow.bounds.gemm import attainable
from npuflow.bounds.levels import boundaries_of
from npuflow.bounds.sizes import MatmulSizes
from npuflow.bounds.sweep import MOST_POINTS, size_of, sweep
from npuflow.target import load_device

TYPES = ("i8", "i8", "i32")
SIZES = MatmulSizes(64, 512, 512, 1, 1, 1, 4, 4)


def test_levels_hold_what_lies_inside_of_them() -> None:
    toy = load_device("toy")
    outer, inner = boundaries_of(toy)
    l1, l2 = (toy.level(number).usable_bytes for number in (1, 2))
    assert (outer.level.name, outer.fast_bytes) == ("L3", 4 * l1 + 2 * l2)
    assert (inner.level.name, inner.fast_bytes) == ("L2", 4 * l1)
    assert (inner.memories, inner.private_bytes, outer.memories) == (4, l1, 0)


def test_the_balance_is_the_peak_over_drams_rate() -> None:
    toy = load_device("toy")
    peak = peak_ops_per_second(toy, TYPES)
    assert peak == 2 * toy.matmul_shapes(*TYPES)[0].macs_per_cycle * 4 * 1e9
    assert machine_balance(toy, TYPES) == peak / toy.dram.total_bytes_per_second
    assert intensity(1000, 500) == 4


@pytest.mark.parametrize(("axis", "first", "last"), [("M", 1, 3000), ("N", 7, 200), ("K", 1, 5000)])
def test_changes_are_where_something_else_bounds(axis: str, first: int, last: int) -> None:
    device = load_device("toy")
    found = sweep(SIZES, axis, first, last, device, TYPES)
    assert [size_of(one, axis) for one in (found.points[0], found.points[-1])] == [first, last]
    assert len(found.points) <= MOST_POINTS
    fast = boundaries_of(device)[0].fast_bytes

    def is_memory_bound(size: int) -> bool:
        sizes = replace(SIZES, **{axis.lower(): size})
        best = attainable(sizes, fast)
        assert best is not None
        return 2 * sizes.macs / best.bytes < found.balance

    assert all(one.is_memory_bound == is_memory_bound(size_of(one, axis)) for one in found.points)
    for one in found.changes:
        size = size_of(one, axis)
        assert is_memory_bound(size) == one.is_memory_bound != is_memory_bound(size - 1)
    flips = [a.is_memory_bound != b.is_memory_bound for a, b in zip(found.points, found.points[1:], strict=False)]
    assert len(found.changes) == sum(flips)


def test_one_size_is_a_sweep_too() -> None:
    found = sweep(SIZES, "M", 5, 5, load_device("toy"), TYPES)
    assert (len(found.points), found.changes) == (1, [])


def test_small_matmuls_are_memory_bound_and_large_ones_are_not() -> None:
    found = sweep(MatmulSizes(1, 4096, 4096, 1, 1, 1, 4, 4), "M", 1, 4096, load_device("npu2"), TYPES)
    assert found.points[0].is_memory_bound
    assert not found.points[-1].is_memory_bound
    hits = [one.hit_rate for one in found.points]
    assert all(rate is not None and 0 <= rate < 1 for rate in hits)
