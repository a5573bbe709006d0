"""Runs of an access: where they begin and end in bursts of memory."""

import pytest

from npuflow.simulate.program import FlatAccess, FlatAffine
from npuflow.simulate.runs import edges_off_bursts, pitch_bytes

START = FlatAffine()


def rows(count: int, columns: int, stride: int, offset: FlatAffine = START) -> FlatAccess:
    return FlatAccess("x", (count, columns), (stride, 1), 2, offset)


def test_the_pitch_of_rows() -> None:
    assert pitch_bytes(rows(8, 56, 4032)) == 4032 * 2
    assert pitch_bytes(rows(8, 64, 64)) == 0  # one run
    assert pitch_bytes(FlatAccess("x", (2, 8, 64), (4096, 64, 1), 2)) == 4096 * 2


@pytest.mark.parametrize(
    ("access", "edges"),
    [
        (rows(8, 64, 4096), 0.0),  # 128 bytes, every 8192
        (rows(8, 48, 1536), 0.0),  # 96 bytes, every 3072: multiples of 32
        (rows(8, 40, 4096), 1.0),  # 80 bytes: all begin at an edge, none ends at one
        (rows(8, 64, 4096, FlatAffine(4)), 2.0),  # 8 bytes behind an edge
        # 112 bytes, every 8064, in steps of 112: at any multiple of 16, so each end is at an edge every second time.
        (rows(8, 56, 4032, FlatAffine(0, (56,))), 1.0),
    ],
)
def test_ends_that_are_not_at_edges(access: FlatAccess, edges: float) -> None:
    assert edges_off_bursts(access, 32) == edges
    assert edges_off_bursts(access, 1) == 0
