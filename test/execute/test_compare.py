"""Comparison: exact where it must be, bounded elsewhere, and no value that slips through."""

import numpy as np
import pytest

from npuflow.execute.bounds import EXACT, Bound, BoundKind
from npuflow.execute.compare import compare, same_elements

WITHIN = Bound(BoundKind.DERIVED, np.full(3, 0.5))


def test_equal_integers_are_bit_exact() -> None:
    values = np.array([1, -2, 3], np.int8)
    result = compare(values, values.copy(), EXACT)
    assert result.ok
    assert str(result) == "bit-exact"


def test_the_first_wrong_integer_is_named() -> None:
    got, expected = np.array([[1, 2], [3, 4]], np.int32), np.array([[1, 2], [9, 0]], np.int32)
    result = compare(got, expected, EXACT)
    assert (result.ok, result.wrong, result.size, result.max_error) == (False, 2, 4, 6.0)
    assert str(result) == "2 of 4 elements are wrong, the first: [1, 0] is 3, expected 9"


@pytest.mark.parametrize(("got", "expected"), [(2**63 - 1, 2**63 - 2), (-(2**63), 2**63 - 1)])
def test_neighbours_among_large_integers_differ(got: int, expected: int) -> None:
    result = compare(np.array([got], np.int64), np.array([expected], np.int64), EXACT)
    assert result.wrong == 1
    assert result.max_error >= 1.0


def test_floats_may_differ_by_the_bound_and_no_more() -> None:
    expected = np.array([1.0, 2.0, 3.0], np.float32)
    assert compare(expected + np.float32(0.5), expected, WITHIN).ok
    over = compare(expected + np.array([0.0, 0.0, 0.625], np.float32), expected, WITHIN)
    assert (over.wrong, over.max_error, over.allowed) == (1, 0.625, 0.5)
    assert over.first is not None
    assert over.first.index == (2,)


@pytest.mark.parametrize(
    ("got", "expected", "ok"),
    [
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (np.inf, 1.0, False),
        (0.0, -0.0, True),
    ],
)
def test_special_values(got: float, expected: float, ok: bool) -> None:
    bound = Bound(BoundKind.DERIVED, np.array([0.25]))
    assert compare(np.array([got]), np.array([expected]), bound).ok is ok


@pytest.mark.parametrize("allowed", [np.nan, np.inf, 0.5, 3.0])
def test_what_a_bound_says_nothing_about_is_not_checked(allowed: float) -> None:
    bound = Bound(BoundKind.DERIVED, np.array([0.0, 0.01, allowed]))
    result = compare(np.array([1.0, 1.0, 2.0]), np.ones(3), bound)
    assert (result.ok, result.unchecked, result.is_blind) == (True, 1, False)
    assert str(result) == "max error 0 of 0.01 allowed (derived), 1 of 3 elements not checked"


def test_a_comparison_in_which_nothing_is_checked_says_so() -> None:
    result = compare(np.array([1.0, -1.0]), np.array([1.0, 1.0]), Bound(BoundKind.DERIVED, np.full(2, 0.6)))
    assert result.is_blind
    assert str(result) == "not checked: the error that is allowed reaches the results' size"


def test_what_is_known_to_be_right_has_no_error() -> None:
    bound = Bound(BoundKind.DERIVED, np.array([0.01, np.nan, 0.01]))
    got, expected = np.array([5.0, 2.0, 1.0]), np.ones(3)
    one = compare(got, expected, bound, np.array([True, True, False]))
    assert (one.ok, one.unchecked, one.max_error) == (True, 0, 0.0)
    other = compare(got, expected, bound, np.array([False, True, False]))
    assert (other.wrong, other.unchecked) == (1, 0)
    assert str(compare(got, expected, bound, np.full(3, fill_value=True))) == "bit-exact"


def test_elements_are_the_same_if_their_numbers_are() -> None:
    left, right = np.array([1.0, np.nan, np.inf, 0.0]), np.array([1.0, np.nan, -np.inf, np.nan])
    assert same_elements(left, right).tolist() == [True, True, False, False]


def test_a_small_element_among_large_ones_may_be_off_by_what_is_small_beside_those() -> None:
    bound = Bound(BoundKind.DERIVED, np.full(3, 0.5))
    assert compare(np.array([10.0, -10.0, 0.4]), np.array([10.0, -10.0, 0.0]), bound).unchecked == 0
    assert not compare(np.array([10.0, -10.0, 0.6]), np.array([10.0, -10.0, 0.0]), bound).ok


def test_the_largest_error_is_shown_and_the_largest_share_of_a_bound_known() -> None:
    bound = Bound(BoundKind.DERIVED, np.array([0.5, 0.001]))
    result = compare(np.array([10.1, 1.0005]), np.array([10.0, 1.0]), bound)
    assert (round(result.max_error, 6), result.allowed) == (0.1, 0.5)
    assert round(result.share, 6) == 0.5


def test_floats_are_compared_with_64_bit_ones() -> None:
    bound = Bound(BoundKind.DERIVED, np.full(1, 2.0**-24))
    assert compare(np.array([0.1], np.float32), np.array([0.1]), bound).ok


def test_booleans_and_empty_arrays_compare() -> None:
    assert compare(np.array([True]), np.array([False]), EXACT).wrong == 1
    assert compare(np.zeros((0, 3)), np.zeros((0, 3)), EXACT).ok


def test_shapes_and_types_must_agree() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(np.zeros(2), np.zeros(3), EXACT)
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(np.zeros(2, np.int8), np.zeros(2, np.int16), EXACT)
