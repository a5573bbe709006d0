"""A matmul while one of its sizes changes: what it moves, and where what bounds it changes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from npuflow.bounds.balance import Types, intensity, machine_balance
from npuflow.bounds.gemm import attainable, compulsory_bytes, lower_bound_bytes
from npuflow.bounds.levels import boundaries_of
from npuflow.bounds.sizes import MatmulSizes
from npuflow.target import Device

AXES = ("M", "N", "K")
# More are no finer a picture; where something changes between two of them, it is looked for.
MOST_POINTS = 512


@dataclass(frozen=True)
class SweepPoint:
    """A matmul of one of the sizes; what its best blocks move between DRAM and the chip, and operations per byte.

    `hit_rate` is the share of what cores receive that needs not come from DRAM again; None without a level between.
    """

    sizes: MatmulSizes
    compulsory_bytes: int
    lower_bound_bytes: int
    attainable_bytes: int
    intensity: float
    is_memory_bound: bool
    hit_rate: float | None


@dataclass(frozen=True)
class Sweep:
    """Points by size, the machine's balance, and the sizes from which on something else bounds than one before."""

    axis: str
    types: Types
    balance: float
    points: Sequence[SweepPoint]
    changes: Sequence[SweepPoint]


def sweep(sizes: MatmulSizes, axis: str, first: int, last: int, device: Device, types: Types) -> Sweep:
    """What changes while M, N or K goes from the first to the last size."""
    balance = machine_balance(device, types)

    def point(size: int) -> SweepPoint:
        return _point(replace(sizes, **{axis.lower(): size}), device, balance)

    points = [point(size) for size in _spread(first, last)]
    pairs = [(a, b) for a, b in pairwise(points) if a.is_memory_bound != b.is_memory_bound]
    changes = [_first_alike(before, after, axis, point) for before, after in pairs]
    return Sweep(axis, types, balance, points, changes)


def _first_alike(before: SweepPoint, after: SweepPoint, axis: str, point: Callable[[int], SweepPoint]) -> SweepPoint:
    """The point from which on the same bounds as at `after`, if that changes but once in between."""
    while size_of(after, axis) - size_of(before, axis) > 1:
        middle = point((size_of(before, axis) + size_of(after, axis)) // 2)
        before, after = (middle, after) if middle.is_memory_bound == before.is_memory_bound else (before, middle)
    return after


def size_of(point: SweepPoint, axis: str) -> int:
    """The size that changes."""
    return int(getattr(point.sizes, axis.lower()))


def _spread(first: int, last: int) -> list[int]:
    """All sizes, or as many as there may be points, evenly."""
    count = min(last - first + 1, MOST_POINTS)
    return [first + (last - first) * step // max(1, count - 1) for step in range(count)]


def _point(sizes: MatmulSizes, device: Device, balance: float) -> SweepPoint:
    outer, *inner = boundaries_of(device)
    moved = _attained(sizes, outer.fast_bytes)
    rate = intensity(sizes.macs, moved)
    hits = 1 - moved / _attained(sizes, inner[0].fast_bytes) if inner else None
    bound = lower_bound_bytes(sizes, outer.fast_bytes)
    return SweepPoint(sizes, compulsory_bytes(sizes), bound, moved, rate, rate < balance, hits)


def _attained(sizes: MatmulSizes, fast_bytes: int) -> int:
    found = attainable(sizes, fast_bytes)
    return compulsory_bytes(sizes) if found is None else found.bytes
