"""What of a tensor is in which scratchpad."""

from __future__ import annotations

from npuflow.network.residency import Home, Slab
from npuflow.network.spread import TensorSpread

# Two channels of 4 rows of 2 elements, two rows in each of two scratchpads, which read a row of each other's.
ROWS = TensorSpread({0: (0, 6), 3: (2, 8)}, 8, bytes([0, 0, 0, 0, 3, 3, 3, 3] * 2), 2)


def test_windows_have_a_part_of_each_period() -> None:
    assert ROWS.window_bytes(0) == 6 * 2 * 2
    assert [ROWS.place(3, element) for element in (2, 7, 10, 15)] == [0, 5, 6, 11]


def test_runs_are_within_a_period() -> None:
    assert list(ROWS.runs()) == [(0, 0, 4), (3, 4, 8), (0, 8, 12), (3, 12, 16)]
    assert list(TensorSpread({0: (0, 2)}, 2, bytes(4), 1).runs()) == [(0, 0, 2), (0, 2, 4)]


def test_a_home_has_each_scratchpads_own() -> None:
    """The slab's number, where a piece is there, and its bytes."""
    home = Home((Slab(0, 64), Slab(3, 128)), 24, in_place=True, spread=ROWS)
    assert list(home.pieces(32)) == [(0, 0, 8), (1, 4, 8), (0, 12, 8), (1, 16, 8)]
    assert home.slab_bytes(32) == [24, 24]
