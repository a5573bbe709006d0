"""Which zeros L2 holds."""

from __future__ import annotations

import pytest

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import L1, L2, L3, Allocate, BufferInfo, Dimension, End, Factor, Nest, Transfer
from npuflow.schedule.project.routes import Routes
from npuflow.target import load_device


def stored(rows: int, clips: int | None) -> int:
    """How many of the 9 rows of a block L2 stores, one of zeros, so many that exist, and zeros again."""
    image, block, tile = (
        BufferInfo(name, space, (count, 8), "i8", 1, None)
        for name, space, count in (("arg0", L3, rows), ("l2_0", L2, 9), ("l1_0", L1, 9))
    )
    columns = Dimension((Factor(8, 1, 1, 1),))
    existing = Dimension((Factor(9, 1, 8, 8),), Affine(rows + 1), Affine(1))
    fill = Transfer(End(image, Affine(-8)), End(block, Affine()), (existing, columns), True, None)
    whole = Dimension((Factor(9, 1, 8, 8),))
    read = Transfer(End(block, Affine()), End(tile, Affine()), (whole, columns), False, None, key=1)
    nest = Nest("f", body=[Allocate(block), Allocate(tile), fill, read])
    return Routes(nest, load_device("npu1"), {}, clips).shape(block)[0]


@pytest.mark.parametrize(("rows", "clips", "found"), [(7, 1, 7), (7, 2, 9), (7, None, 9), (4, 2, 4), (4, None, 9)])
def test_zeros_that_outweigh_what_exists_stay_out_of_l2(rows: int, clips: int | None, found: int) -> None:
    assert stored(rows, clips) == found
