"""The places of a memory that an access goes through, one by one, and accesses that go through given ones. Pure."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from npuflow.simulate.program import FlatAccess, FlatAffine

Places: TypeAlias = npt.NDArray[np.int64]


def places_of(access: FlatAccess) -> Places:
    """The elements of a slot that an access goes through, in its order."""
    return access.offset.constant + _walked(access.sizes, access.strides)


# Most of a tensor's transfers differ in where they begin alone.
@lru_cache(maxsize=64)
def _walked(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Places:
    """How far each index of some dimensions is, in order."""
    found = np.zeros(1, np.int64)
    for size, stride in zip(sizes, strides):
        found = (found[:, None] + np.arange(size) * stride).reshape(-1)
    found.flags.writeable = False
    return found


def existing_places(access: FlatAccess) -> Places:
    """The same of those that its limits leave."""
    return places_of(access)[existing(access)] if access.limits else places_of(access)


def bytes_of(access: FlatAccess) -> Places:
    """The bytes of what exists of what an access goes through."""
    size = access.element_bytes
    return (existing_places(access)[:, None] * size + np.arange(size)).reshape(-1)


def existing(access: FlatAccess) -> npt.NDArray[np.bool_]:
    """Of what an access goes through, what its limits leave."""
    found = np.ones(prod(access.sizes), bool)
    for limit in access.limits:
        found &= _walked(access.sizes, limit.coefficients) < limit.bound.constant
    return found


def access_of(access: FlatAccess, places: Places) -> FlatAccess:
    """The same of other places, which go on by the same step along each dimension."""
    offset = FlatAffine(int(places.reshape(-1)[0]))
    return access.going(places.shape, _steps(places), offset, access.limits)


def in_pattern(places: Places, most_dims: int) -> Places | None:
    """Places in as many dimensions as it takes for each to go on by the same step; None where it takes too many."""
    while (dimension := irregular_dimension(places)) is not None:
        size, steps = places.shape[dimension], np.diff(places, axis=dimension)
        other = (steps != np.take(steps, [0], dimension)).any(
            axis=tuple(d for d in range(steps.ndim) if d != dimension)
        )
        length = int(np.argmax(other)) + 1 if other.any() else 0
        if places.ndim == most_dims or length < 2 or size % length:
            return None
        shape = places.shape
        places = places.reshape((*shape[:dimension], size // length, length, *shape[dimension + 1 :]))
    return places


def irregular_dimension(places: Places) -> int | None:
    """The first dimension along which places don't always go on by the same step."""
    if np.array_equal(places.reshape(-1), places.flat[0] + _walked(places.shape, _steps(places))):
        return None
    for dimension in range(places.ndim):
        steps = np.diff(places, axis=dimension)
        if steps.size and (steps != steps.flat[0]).any():
            return dimension
    return None


def _steps(places: Places) -> tuple[int, ...]:
    """By how much places go on along each dimension, from the first to the second."""
    first, begin = int(places.flat[0]), (0,) * places.ndim
    seconds = ((*begin[:d], 1, *begin[d + 1 :]) for d in range(places.ndim))
    return tuple(int(places[at]) - first if size > 1 else 0 for at, size in zip(seconds, places.shape))
