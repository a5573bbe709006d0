"""Patches of pixels: how a line is reshaped, and what instructions that take patches do for a tile."""

from __future__ import annotations

from itertools import product
from math import ceil, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.ops.patches import Extent, image_of_line, patch_count
from npuflow.ops.products import Products
from npuflow.target import load_device

I8 = ("i8", "i8", "i32")
PATCHES = load_device("toy-patch").matmul_shapes(*I8)[0]
LINEAR = load_device("toy").matmul_shapes(*I8)[0]


@pytest.mark.parametrize(
    ("size", "patch", "image"),
    [
        (2048, (4, 4), (128, 16)),
        (64, (4, 4), (4, 16)),
        (48, (4, 4), (12, 4)),  # as rows of 16 it would take four patches, of which the last rows are empty
        (16, (4, 4), (4, 4)),
        (49, (4, 4), (7, 7)),
        (13, (4, 4), (4, 4)),  # three pixels are missing; 13x1 takes four patches
        (2047, (4, 4), (128, 16)),
        (3, (4, 4), (3, 1)),
        (1, (4, 4), (1, 1)),
        (2048, (2, 8), (128, 16)),
        (100, (1, 16), (7, 15)),
    ],
)
def test_a_line_is_reshaped_to(size: int, patch: Extent, image: Extent) -> None:
    assert image_of_line(size, patch) == image


@given(st.integers(1, 3000), st.integers(1, 8), st.integers(1, 8))
def test_no_other_image_takes_fewer_patches(size: int, rows: int, columns: int) -> None:
    patch = (rows, columns)
    image = image_of_line(size, patch)
    assert patch_count(image, patch) == ceil(size / (rows * columns))
    # All pixels are there, and no row is empty.
    assert 0 <= prod(image) - size < image[1]


@given(st.integers(1, 300), st.integers(1, 8), st.integers(1, 8))
def test_packed_lines_are_reshaped_to_whole_packed_rows_or_whole_patches(count: int, rows: int, columns: int) -> None:
    image = image_of_line(count * rows * columns, (rows, columns))
    assert prod(image) == count * rows * columns
    assert image[1] in (columns, rows * columns)


def test_an_image_takes_every_patch_that_it_touches() -> None:
    for image in product(range(1, 10), range(1, 10)):
        touched = {(y // 4, x // 3) for y in range(image[0]) for x in range(image[1])}
        assert patch_count(image, (4, 3)) == len(touched)


# A 3x3 window over an image, as npuflow.ops.products describes it: n, oh, ow, f, kh, kw, c.
WINDOW = Products(I8, m=(2,), n=(3,), k=(6,), single=(4, 5), rows=(0, 1), pixels=(1, 2), taps=(4, 5))
PACKED = Products(I8, m=(0, 3), n=(1, 4), k=(2, 5), single=())


def test_a_tile_of_an_image_is_cut_into_patches_of_both_dimensions() -> None:
    # 2 images, 3 x 5 patches, 2 times 16 channels, 1 sum of 16, 9 positions of the window; 16^3 an instruction.
    assert WINDOW.issued((2, 9, 18, 20, 3, 3, 5), PATCHES, 32) == 2 * (3 * 5) * 2 * 1 * 9 * 16**3
    # In a line of 4 pixels, the same tile is 5 of them for each of 9 rows, 3 times 8 channels, 1 sum of 8.
    assert WINDOW.issued((2, 9, 18, 20, 3, 3, 5), LINEAR, 32) == 2 * 9 * 5 * 3 * 1 * 9 * (4 * 8 * 8)


def test_a_row_of_windows_is_no_line_but_a_row_of_single_pixels_is() -> None:
    assert WINDOW.image((1, 1, 32, 16, 3, 3, 16), PATCHES) == (1, 32)
    assert WINDOW.image((1, 1, 32, 16, 1, 1, 16), PATCHES) == (8, 4)
    assert WINDOW.image((1, 32, 1, 16, 1, 1, 16), PATCHES) == (8, 4)
    assert WINDOW.image((1, 2, 16, 16, 1, 1, 16), PATCHES) == (2, 16)
    assert WINDOW.image((1, 1, 32, 16, 1, 1, 16), PATCHES, reshaped=False) == (1, 32)


def test_rows_of_a_matrix_are_one_line_however_they_are_packed() -> None:
    sizes = (4, 2, 3, 16, 16, 16)  # 64 x 32 x 48
    assert PACKED.image(sizes, PATCHES, reshaped=False) == (64, 1)
    assert PACKED.image(sizes, PATCHES) == (4, 16)
    assert PACKED.issued(sizes, PATCHES, 32) == 64 * 32 * 48
    assert PACKED.issued(sizes, PATCHES, 32, reshaped=False) == 4 * 64 * 32 * 48
