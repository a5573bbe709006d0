"""Searches for cycles are put off in a function, and as they were behind it."""

from __future__ import annotations

import gc

import pytest

from npuflow.core.garbage import seldom_collecting


@seldom_collecting()
def first_threshold(*, fails: bool = False) -> int:
    if fails:
        raise ValueError("inside")
    return gc.get_threshold()[0]


@pytest.mark.parametrize("young", [0, 700])
def test_searches_are_put_off_by_who_has_any(young: int) -> None:
    before = gc.get_threshold()
    gc.set_threshold(young)
    try:
        assert first_threshold() == 0 if young == 0 else first_threshold() > young
        with pytest.raises(ValueError, match="inside"):
            first_threshold(fails=True)
        assert gc.get_threshold()[0] == young
    finally:
        gc.set_threshold(*before)
