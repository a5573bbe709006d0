"""Random inputs: reproducible, independent of each other, and of the stated ranges."""

import numpy as np
import pytest

from npuflow.execute.arrays import FLOAT_FORMATS, ArraySpec, dtype_of, is_float
from npuflow.execute.data import Draw, random_array, random_arrays, share_that_tells
from npuflow.ops.allowed_ops import ELEMENT_TYPES

BIG = (64, 64)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_a_seed_gives_the_same_array_again_and_another_seed_another(element: str) -> None:
    spec = ArraySpec(element, BIG)
    first = random_array(spec, 1)
    assert first.dtype == spec.dtype
    assert first.shape == BIG
    assert np.array_equal(first, random_array(spec, 1))
    assert not np.array_equal(first, random_array(spec, 2))


def test_an_argument_more_leaves_the_others_as_they_are() -> None:
    specs = [ArraySpec("i32", (4,)), ArraySpec("f32", (4,))]
    short, long = random_arrays(specs, 3), random_arrays([*specs, ArraySpec("i8", (4,))], 3)
    assert all(np.array_equal(a, b) for a, b in zip(short, long, strict=False))
    assert not np.array_equal(short[0], random_array(specs[0], 3, position=1))


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
def test_integers_take_their_full_range(element: str) -> None:
    limits = np.iinfo(dtype_of(element))
    values = random_array(ArraySpec(element, (256, 256)), 0)
    reach = (int(limits.max) - int(limits.min)) / 100
    assert int(values.max()) > int(limits.max) - reach
    assert int(values.min()) < int(limits.min) + reach


@pytest.mark.parametrize("element", FLOAT_FORMATS)
def test_floats_are_within_one(element: str) -> None:
    values = random_array(ArraySpec(element, BIG), 0).astype(np.float64)
    assert -1.0 <= values.min() < -0.9
    assert 0.9 < values.max() <= 1.0


def test_scalars_and_empty_arrays_have_their_shapes() -> None:
    for draw in Draw:
        assert isinstance(random_array(ArraySpec("i32", ()), 0, draw=draw), np.ndarray)
        assert random_array(ArraySpec("i32", ()), 0, draw=draw).shape == ()
    assert random_array(ArraySpec("f32", (0, 3)), 0).shape == (0, 3)


@pytest.mark.parametrize("element", FLOAT_FORMATS)
def test_float_formats_are_those_of_numpy(element: str) -> None:
    import ml_dtypes

    found = ml_dtypes.finfo(dtype_of(element))
    assert is_float(element)
    assert FLOAT_FORMATS[element].unit_roundoff == float(found.eps) / 2
    assert FLOAT_FORMATS[element].smallest == float(found.smallest_subnormal)


def test_what_saturates_tells_little() -> None:
    values = np.arange(100).clip(20, 30)
    assert share_that_tells(values) == 0.09
    assert share_that_tells(np.zeros(100)) == 0.0
    assert share_that_tells(np.linspace(0, 1, 100)) == 0.98
    assert share_that_tells(np.array([np.nan, 1.0, 2.0, 3.0])) == 0.75
