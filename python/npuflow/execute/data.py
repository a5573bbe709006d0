"""Random inputs: every argument seeded on its own, so that adding one leaves the others as they are.

Integers take their type's full range: two's complement wraps on both sides alike, so that overflow in an accumulator is
compared as well. Floats are uniform in [-1, 1): sums of products then stay far from overflow, and their rounding errors
are of the size that the bounds of `compare` state. Where a function divides integers, none is zero or the smallest of
its type, by which dividing is undefined. Functions that index with an argument need data of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npuflow.bindings import ir
from npuflow.execute.arrays import Array, ArraySpec, is_float
from npuflow.execute.guard_divisions import divides_integers


def random_array(spec: ArraySpec, seed: int, position: int = 0) -> Array:
    """The array that `seed` gives argument number `position`."""
    generator = np.random.default_rng([seed, position])
    if spec.element == "i1":
        return generator.integers(0, 2, spec.shape).astype(np.bool_)
    if is_float(spec.element):
        return np.asarray(generator.uniform(-1.0, 1.0, spec.shape)).astype(spec.dtype)
    bytes_needed = int(np.prod(spec.shape, dtype=np.int64)) * spec.dtype.itemsize
    return np.frombuffer(generator.bytes(bytes_needed), spec.dtype).reshape(spec.shape).copy()


def random_arrays(specs: Sequence[ArraySpec], seed: int) -> list[Array]:
    """One array per spec."""
    return [random_array(spec, seed, position) for position, spec in enumerate(specs)]


def arrays_for(function: ir.Operation, specs: Sequence[ArraySpec], seed: int) -> list[Array]:
    """One array per argument of a function; integers without zeros and the smallest number if it divides any."""
    arrays = random_arrays(specs, seed)
    if not divides_integers(function):
        return arrays
    return [_divisible(array) if np.issubdtype(array.dtype, np.signedinteger) else array for array in arrays]


def _divisible(array: Array) -> Array:
    smallest = -(2 ** (8 * array.dtype.itemsize - 1))
    bad = (array == 0) | (array == smallest)
    return np.where(bad, np.asarray(1, array.dtype), array)
