"""Channels whose parts of L3 lie side by side."""

import pytest

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Engine, Ref, Repeat, Schedule, Send
from npuflow.schedule.data.neighbours import adjoining
from npuflow.target import load_device

STAGES = load_device("toy").ways.stages
SCHEDULE = Schedule("s", {"column": 4})


def shim(
    column_step: int, sizes: tuple[int, ...], strides: tuple[int, ...], stage: str = "shim_out"
) -> tuple[Access, Engine]:
    access = Access(Ref("b"), Affine(), Affine.counter("column", column_step), sizes, strides)
    return access, Engine("shim", STAGES[stage], 0, ("column",), (Repeat("k", 3, (Send(Ref("s"), access),)),))


@pytest.mark.parametrize(
    ("moved", "channels"),
    [
        (shim(16, (8, 16), (64, 1)), 4),  # rows of 64, 16 of them per column
        (shim(16 * 64, (16, 8), (64, 1)), 1),  # 16 whole rows per column, of which 8 elements are read
        (shim(32, (8, 16), (64, 1)), 1),  # a gap between the columns' parts
        (shim(0, (8, 16), (64, 1)), 1),  # every column reads the same
        (shim(16, (8, 16), (64, 1), "memory_in"), 1),  # not L3
        (shim(64, (4, 16), (16, 1)), 4),  # two dimensions that are one run
    ],
)
def test_adjoining_parts(moved: tuple[Access, Engine], channels: int) -> None:
    assert adjoining(*moved, SCHEDULE) == channels
