"""The native search over orders and the loads of one, as its callers' mistakes and its limits meet it."""

from __future__ import annotations

import pytest

from npuflow import _native

ROW_MAJOR = [(row, column) for row in range(4) for column in range(4)]


@pytest.mark.parametrize("is_lru", [False, True])
def test_an_order_that_is_found_loads_what_is_said(is_lru: bool) -> None:
    for capacity in range(2, 9):
        least, order = _native.search_order(4, 4, capacity, is_lru, 18, 100_000)
        assert sorted(order) == ROW_MAJOR
        assert sum(_native.order_loads(4, 4, capacity, is_lru, order)) == least


def test_what_is_known_to_be_best_is_not_found_again() -> None:
    assert _native.search_order(4, 4, 4, False, 10, 100_000) == (10, [])


def test_a_search_that_is_cut_off_has_a_bound() -> None:
    least, order = _native.search_order(7, 7, 4, False, 26, 50)
    assert order == []
    assert 14 < least < 24


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="a row and a column"):
        _native.search_order(0, 4, 4, False, 10, 10)
    with pytest.raises(ValueError, match="two panels"):
        _native.order_loads(4, 4, 1, False, ROW_MAJOR)
    with pytest.raises(ValueError, match="not in the grid"):
        _native.order_loads(4, 4, 4, False, [(0, 4)])
    with pytest.raises(_native.Fault, match="more than 64 tiles"):
        _native.search_order(9, 9, 4, False, 100, 10)
