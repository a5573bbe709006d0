"""How many descriptors of a DMA engine an access pattern takes. Pure; the native core counts (`pattern_fit.h`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from npuflow import _native
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
    return Fit(*_native.fit_pattern(dims, element_bytes, flat_limits(limits)))


def merged(dims: Iterable[tuple[int, int]]) -> Dims:
    """The dimensions that are gone through; neighbours that continue each other are one."""
    return _native.merged_pattern(list(dims))


@lru_cache(maxsize=256)
def flat_limits(limits: PatternLimits) -> _native.DescriptorLimits:
    """The same, as the native core takes it."""
    return _native.DescriptorLimits(
        dims=limits.dims,
        granule_bytes=limits.granule_bytes,
        size_max=limits.size_max,
        stride_max=limits.stride_max,
        length_max=limits.length_max,
        iteration_max=limits.iteration_max,
    )
