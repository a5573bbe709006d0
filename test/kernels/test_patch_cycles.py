"""How long a matrix engine of patches takes, worked out by hand on an engine with round numbers."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.kernels.patch_cycles import PatchWork, best_patch_cycles, patch_cycles
from npuflow.target.matmul import MatmulShape
from npuflow.target.patch_engine import PatchEngine, PatchGrid

SQUARE = PatchGrid(name="square", rows=16, columns=16, channels=64)
FLAT = PatchGrid(name="flat", rows=4, columns=16, channels=256, read_share=0.5)
ENGINE = PatchEngine(
    setup_cycles=100,
    read_bytes_per_cycle=128,
    weight_bytes_per_cycle=1000,
    write_bytes_per_cycle=64,
    read_word_bytes=32,
    write_word_bytes=32,
    broadcast_share=0.5,
    strided_share=0.8,
    narrow_share=1.25,
    row_cycles=0,
    reused_columns=3,
    reused_channels=32,
    reused_share=0.5,
    skipped_share=0.5,
    grids=(SQUARE, FLAT),
)
I8 = MatmulShape(lhs="i8", rhs="i8", acc="i32", m=16, n=16, k=16, macs_per_cycle=2048, patch=(4, 4))


def cycles(work: PatchWork, grid: PatchGrid = SQUARE, engine: PatchEngine = ENGINE) -> int:
    return patch_cycles(work, grid, I8, engine)


CONVOLUTION = PatchWork((16, 16), channels=64, summed_channels=64, window=(3, 3))


def test_a_convolution_multiplies() -> None:
    # 16 patches of 16 pixels, 64 channels of sums, 64 x 9 products each; then 16 x 16 x 64 bytes leave.
    assert cycles(CONVOLUTION) == 100 + 16 * 16 * 64 * 64 * 9 // 2048 + 16 * 16 * 64 // 64


def test_patches_and_channels_are_filled_up() -> None:
    small = replace(CONVOLUTION, pixels=(13, 13), channels=50, summed_channels=3)
    filled = 16 * 16 * 64 * 16 * 9 // 2048  # as of 16x16 pixels, 64 channels and 16 summed ones
    assert cycles(small) == 100 + ceil(filled + 13 * 13 * 50 / 64)


def test_few_channels_are_bound_by_reading() -> None:
    # A patch of 16 pixels by 16 channels is read at 128 a cycle in 2 cycles, as long as it is multiplied by 16
    # channels; the grid that reads at half the rate takes 4. 8-bit weights of 16x16 per step and grid of pixels.
    few = replace(CONVOLUTION, channels=16)
    steps, weights = 4 * 9, 4 * 9 * 16 * 16 / 1000
    assert cycles(few) == 100 + ceil(16 * 2 * steps + weights + 16 * 16 * 16 / 64)
    assert cycles(few, FLAT) == 100 + ceil(16 * 4 * steps + 4 * weights + 4 * 16 * 16 / 64)
    assert best_patch_cycles(few, I8, ENGINE) == cycles(few)


def test_few_summed_channels_are_bound_by_writing() -> None:
    # 16 channels of a byte fill half of a word of 32.
    thin = PatchWork((64, 64), channels=16, summed_channels=16)
    assert cycles(thin) == 100 + 64 * 64 * 32 // 64 + 16 * 16 * 16 // 64
    assert cycles(replace(thin, is_broadcast=True)) == 100 + 2 * (64 * 64 * 32 // 64 + 16 * 16 * 16 // 64)


def test_a_row_of_padding_is_skipped_in_a_last_row_of_patches_with_one_row() -> None:
    deep = replace(CONVOLUTION, pixels=(5, 16), summed_channels=256)
    row = 4 * 16 * 64 * 256 * 9 // 2048
    assert cycles(deep) == 100 + 2 * row + 5 * 16
    assert cycles(replace(deep, padded_edges=1)) == 100 + 2 * row - row // 6 + 5 * 16
    full = replace(deep, pixels=(6, 16))
    assert cycles(replace(full, padded_edges=1)) == cycles(full)


def test_channels_apart_are_read_word_by_word() -> None:
    # 4 patches of 16 pixels, 25 positions, a word of 32 bytes each: 4 cycles a patch and position.
    depthwise = PatchWork((8, 8), channels=32, window=(5, 5))
    leave = 8 * 8 * 32 // 64
    assert cycles(depthwise) == 100 + 4 * 25 * 4 + leave
    assert cycles(replace(depthwise, channels=64)) == 100 + 2 * 4 * 25 * 4 + 2 * leave
    assert cycles(replace(depthwise, strides=(2, 2))) == 100 + 4 * 25 * 5 + leave
    assert cycles(replace(depthwise, channels=16)) == 100 + 4 * 25 * 4 * 4 // 5 + leave // 2
    assert cycles(replace(depthwise, window=(3, 3))) == 100 + 4 * 9 * 2 + leave
    edges = replace(ENGINE, edge_share=0.25)
    assert cycles(replace(depthwise, padded_edges=1), engine=edges) == 100 + 4 * 25 * 4 * 7 // 8 + leave
    assert cycles(replace(depthwise, padded_edges=2), engine=edges) == 100 + 4 * 25 * 4 * 6 // 8 + leave
    assert cycles(depthwise, engine=replace(ENGINE, row_cycles=1)) == 100 + 4 * 25 * 4 + 4 * 5 + leave


def test_element_by_element_is_bound_by_writing() -> None:
    # What is read of two operands goes twice as fast as what is written of one.
    added = PatchWork((16, 16), channels=64, operands=2)
    assert cycles(added) == 100 + 16 * 16 * 64 // 64 + 16 * 16 * 64 // 64


@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.integers(1, 200),
    st.integers(1, 200),
    st.sampled_from([(1, 1), (3, 3), (1, 7)]),
)
def test_more_of_anything_never_takes_less(
    pixels: tuple[int, int], channels: int, summed: int, window: tuple[int, int]
) -> None:
    work = PatchWork(pixels, channels, summed, window)
    for more in (
        replace(work, pixels=(pixels[0] + 1, pixels[1])),
        replace(work, channels=channels + 1),
        replace(work, summed_channels=summed + 1),
        replace(work, is_broadcast=True),
    ):
        assert cycles(more) >= cycles(work)


@pytest.mark.parametrize("grid", ENGINE.grids)
def test_nothing_is_faster_than_multiplying(grid: PatchGrid) -> None:
    macs = 16 * 16 * 64 * 64 * 9
    assert cycles(CONVOLUTION, grid) > macs / I8.macs_per_cycle
