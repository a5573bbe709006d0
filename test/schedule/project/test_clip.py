"""Which transfers can tell where the zeros of an L2 buffer are."""

from __future__ import annotations

import pytest

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import COLUMN, L1, L2, L3, Allocate, BufferInfo, Dimension, End, Factor, Nest, Transfer
from npuflow.schedule.project.clip import clip_of
from npuflow.schedule.project.layout import Part

IMAGE, BLOCK, TILE = (
    BufferInfo(name, space, shape, "i8", 1, None)
    for name, space, shape in (("arg0", L3, (7, 8)), ("l2_0", L2, (9, 8)), ("l1_0", L1, (9, 8)))
)
COLUMNS = Dimension((Factor(8, 1, 1, 1),))
PADDED = Dimension((Factor(9, 1, 8, 8),), Affine(8), Affine(1))


def moved(
    source: BufferInfo, target: BufferInfo, *dimensions: Dimension, start: int = 0, pads: bool = False
) -> Transfer:
    return Transfer(End(source, Affine(start)), End(target, Affine()), dimensions, pads, None)


def shape_of(*reader: Dimension) -> tuple[int, ...] | None:
    """What is stored of 7 rows with one of zeros on either side, where a core reads them so."""
    fill = moved(IMAGE, BLOCK, PADDED, COLUMNS, start=-8, pads=True)
    body = [Allocate(BLOCK), fill, moved(BLOCK, TILE, *reader)]
    clip = clip_of(BLOCK, Nest("f", body=body), Part(COLUMN, None, BLOCK.shape, 1))
    return None if clip is None else clip.shape


def rows(*factors: Factor, limit: int | None = None) -> Dimension:
    return Dimension(factors, None if limit is None else Affine(limit))


@pytest.mark.parametrize(
    "reader",
    [
        (rows(Factor(9, 1, 8, 8)), COLUMNS),
        (rows(Factor(3, 3, 24, 24), Factor(3, 1, 8, 8)), COLUMNS),  # in steps of three
        (rows(Factor(3, 1, 8, 24), Factor(3, 1, 8, 8)), COLUMNS),  # windows, each copied out
        (COLUMNS,),  # the first row alone
    ],
)
def test_readers_along_single_dimensions_insert_the_zeros(reader: tuple[Dimension, ...]) -> None:
    assert shape_of(*reader) == (7, 8)


@pytest.mark.parametrize(
    "reader",
    [
        (rows(Factor(72, 1, 1, 1), Factor(2, 8, 8, 8)),),  # rows and columns at once
        (rows(Factor(3, 1, 8, 24)), rows(Factor(3, 1, 8, 8)), COLUMNS),  # one dimension twice
        (rows(Factor(9, 1, 8, 8), limit=5), COLUMNS),  # cut off already
    ],
)
def test_other_readers_leave_the_zeros_in_l2(reader: tuple[Dimension, ...]) -> None:
    assert shape_of(*reader) is None
