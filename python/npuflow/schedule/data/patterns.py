"""How many descriptors of a DMA engine an access pattern takes. Pure.

A descriptor steps through a few dimensions and, each time it is used, moves its base by an iteration. The outermost
dimension follows from the transfer's length, so its size has no limit of its own. What doesn't fit is split: a long
dimension into two, the outermost one into the iteration or into descriptors of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, prod

from npuflow.target.model import PatternLimits

# (size, stride), outermost first
Dims = list[tuple[int, int]]


@dataclass(frozen=True)
class Fit:
    """What a pattern takes: descriptors, and whether it moves pieces smaller than the engine's granule."""

    descriptors: int
    is_sub_granule: bool


def fit(dims: Sequence[tuple[int, int]], element_bytes: int, limits: PatternLimits) -> Fit:
    """The descriptors for dimensions of (size, stride) in elements, outermost first; strides are positive."""
    outer = merged(dims)
    granule = limits.granule_bytes
    run = outer.pop()[0] if outer and outer[-1][1] == 1 else 1
    sub_granule = bool(run * element_bytes % granule or any(s * element_bytes % granule for _, s in outer))
    in_granules = [(size, ceil(stride * element_bytes / granule)) for size, stride in outer]
    length = ceil(run * element_bytes / granule)
    if length > 1 or not in_granules:
        in_granules.append((length, 1))
    return Fit(_count(in_granules, limits), sub_granule)


def merged(dims: Iterable[tuple[int, int]]) -> Dims:
    """The dimensions that are gone through; neighbours that continue each other are one."""
    found: Dims = []
    for size, stride in dims:
        if size == 1:
            continue
        if found and found[-1][1] == size * stride:
            found[-1] = (found[-1][0] * size, stride)
        else:
            found.append((size, stride))
    return found


def _count(dims: Dims, limits: PatternLimits) -> int:
    count = prod(size for size, stride in dims if stride > limits.stride_max)
    dims = [(size, stride) for size, stride in dims if stride <= limits.stride_max] or [(1, 1)]
    dims, pieces = _split_long(dims, limits.size_max)
    count *= pieces
    iterations = limits.iteration_max
    while len(dims) > 1 and not _fits(dims, limits):
        size, _ = dims.pop(0)
        count *= ceil(size / iterations) if iterations else size
        iterations = 0
    return count * ceil(prod(size for size, _ in dims) / limits.length_max)


def _fits(dims: Dims, limits: PatternLimits) -> bool:
    return len(dims) <= limits.dims and prod(size for size, _ in dims) <= limits.length_max


def _split_long(dims: Dims, most: int) -> tuple[Dims, int]:
    """Dimensions below the outermost as two where they are too long; what has no factor takes several descriptors."""
    split, pieces = [dims[0]], 1
    for size, stride in dims[1:]:
        if size <= most:
            split.append((size, stride))
            continue
        inner = max((f for f in range(1, most + 1) if size % f == 0), default=1)
        if size // inner <= most:
            split += [(size // inner, stride * inner), (inner, stride)]
        else:
            pieces *= ceil(size / most)
            split.append((most, stride))
    return split, pieces
