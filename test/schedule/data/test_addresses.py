"""Where buffers lie, by hand."""

from __future__ import annotations

import pytest

from npuflow.schedule.data.addresses import _within_bank


@pytest.mark.parametrize(
    ("start", "size", "slot", "expected"),
    [
        (0, 100, 50, 0),
        (40, 60, 30, 40),  # ends with the bank
        (50, 60, 30, 100),
        (150, 240, 80, 200),  # three slots of 80: the first in one bank
        (110, 240, 80, 110),
        (50, 300, 150, 50),  # no bank holds a slot
    ],
)
def test_buffers_lie_within_banks(start: int, size: int, slot: int, expected: int) -> None:
    assert _within_bank(start, size, slot, 100) == expected
