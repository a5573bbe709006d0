"""Random inputs: every argument seeded on its own, so that adding one leaves the others as they are.

Integers take their type's full range: two's complement wraps on both sides alike, so that overflow in an accumulator is
compared as well. Half of those of more than 8 bits have fewer, by as many as chance says: what saturates has some that
don't. Floats are uniform in [-1, 1): sums of products then stay far from overflow, and their rounding errors
are of the size that the bounds of `compare` state. Where a function divides integers, none is zero or the smallest of
its type, by which dividing is undefined. What a function picks elements by is inside of what it picks them from.

Some programs make nothing of such data: logarithms of negative numbers, sums that all saturate, infinities times masks
of other integers than 0 and 1. For these there are other `Draw`s, and `share_that_tells` says how much a result can
tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain

import numpy as np

from npuflow.bindings import ir
from npuflow.execute.arrays import Array, ArraySpec, is_float, signature_of
from npuflow.execute.guard_divisions import divides_integers
from npuflow.execute.index_limits import index_limits
from npuflow.execute.picks_inside import outside_of, picks_inside

# Results of so few elements may be equal by chance.
_FEW = 8
_BYTE = 8


class Draw(Enum):
    """What random numbers look like; those to be tried first come first."""

    FULL = "full range"
    POSITIVE = "positive"
    ABOVE_ONE = "above one"
    SMALL = "small"
    SMALL_POSITIVE = "small and positive"
    MASKS = "integers of 0 and 1"

    @property
    def floats(self) -> tuple[float, float]:
        """Where floats are drawn from, evenly."""
        return _FLOATS[self]

    @property
    def integers(self) -> tuple[int, int] | None:
        """Where integers are drawn from, up to the second; None for all of their type."""
        return _INTEGERS.get(self)


_FLOATS = {
    Draw.FULL: (-1.0, 1.0),
    Draw.POSITIVE: (0.25, 1.0),
    Draw.ABOVE_ONE: (1.25, 4.0),
    Draw.SMALL: (-0.0625, 0.0625),
    Draw.SMALL_POSITIVE: (0.015625, 0.0625),
    Draw.MASKS: (-1.0, 1.0),
}
_INTEGERS = {
    Draw.POSITIVE: (0, 64),
    Draw.ABOVE_ONE: (1, 16),
    Draw.SMALL: (-8, 8),
    Draw.SMALL_POSITIVE: (0, 8),
    Draw.MASKS: (0, 2),
}


def random_array(spec: ArraySpec, seed: int, position: int = 0, draw: Draw = Draw.FULL) -> Array:
    """The array that `seed` gives argument number `position`."""
    generator = np.random.default_rng([seed, position])
    if spec.element == "i1":
        return generator.integers(0, 2, spec.shape).astype(np.bool_)
    if is_float(spec.element):
        return np.asarray(generator.uniform(*draw.floats, spec.shape)).astype(spec.dtype)
    if draw.integers is not None:
        return np.asarray(generator.integers(*draw.integers, spec.shape)).astype(spec.dtype)
    bytes_needed = int(np.prod(spec.shape, dtype=np.int64)) * spec.dtype.itemsize
    values = np.frombuffer(generator.bytes(bytes_needed), spec.dtype).reshape(spec.shape)
    width = 8 * spec.dtype.itemsize
    if width == _BYTE:
        return values.copy()
    fewer = np.asarray(generator.integers(-width, width, spec.shape)).clip(0).astype(spec.dtype)
    return np.asarray(np.right_shift(values, fewer))  # of rank 0 too


def random_arrays(specs: Sequence[ArraySpec], seed: int, draw: Draw = Draw.FULL) -> list[Array]:
    """One array per spec."""
    return [random_array(spec, seed, position, draw) for position, spec in enumerate(specs)]


def arrays_for(function: ir.Operation, specs: Sequence[ArraySpec], seed: int, draw: Draw = Draw.FULL) -> list[Array]:
    """One array per argument of a function; integers without zeros and the smallest number if it divides any.

    Those that it picks elements by are at least 0, and less than the size that they are picked from; than a half of it
    or less, down to nothing but zeros, where what is computed of them, sums for one, is outside.
    """
    arrays = random_arrays(specs, seed, draw)
    limits = index_limits(function)
    if limits:
        arrays = _inside(function, arrays, limits, seed)
    if not divides_integers(function):
        return arrays
    return [_divisible(array) if np.issubdtype(array.dtype, np.signedinteger) else array for array in arrays]


def _inside(function: ir.Operation, arrays: list[Array], limits: Mapping[int, int], seed: int) -> list[Array]:
    """The same with those that elements are picked by drawn inside; as if nothing were computed of them if need be."""
    outside = outside_of(function.parent.operation, signature_of(function).name)
    draws = (_places(arrays, limits, seed, halved) for halved in range(max(limits.values()).bit_length()))
    first = next(draws)
    return next((one for one in chain((first,), draws) if outside is None or picks_inside(outside, one)), first)


def _places(arrays: Sequence[Array], limits: Mapping[int, int], seed: int, halved: int) -> list[Array]:
    found = list(arrays)
    for position, size in limits.items():
        generator, given = np.random.default_rng([seed, position]), arrays[position]
        found[position] = generator.integers(0, max(1, size >> halved), given.shape).astype(given.dtype)
    return found


def _divisible(array: Array) -> Array:
    smallest = -(2 ** (8 * array.dtype.itemsize - 1))
    bad = (array == 0) | (array == smallest)
    return np.where(bad, np.asarray(1, array.dtype), array)


def share_that_tells(result: Array) -> float:
    """The share of a result's elements that are finite and not one of its two most frequent values.

    Those of a result that saturates are its ends; what is wrong hides behind them.
    """
    if not result.size:
        return 1.0
    finite = np.isfinite(result.astype(np.float64))
    if result.size < _FEW:
        return float(np.mean(finite))
    _, counts = np.unique(result[finite], return_counts=True)
    return float((np.count_nonzero(finite) - np.sort(counts)[-2:].sum()) / result.size)
