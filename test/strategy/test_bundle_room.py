"""What a bundle's tile takes of memories and descriptors."""

from __future__ import annotations

from npuflow.ops.linear import Linear
from npuflow.strategy.bundle_room import (
    l1_bytes,
    l2_bytes,
    l2_descriptors,
)
from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
)
from npuflow.strategy.lane_descriptors import TileDma

ROW, COLUMN, SUMMED = (Linear(((loop, 1),)) for loop in range(3))


def elementwise(*inputs: tuple[Linear, ...]) -> BundleShape:
    """Inputs of a 64x128 f32 op along the given dimensions."""
    tensors = [BundleTensor(f"in{i}", Role.INPUT, dims, (64, 128)[: len(dims)], 4) for i, dims in enumerate(inputs)]
    tensors.append(BundleTensor("out", Role.OUTPUT, (ROW, COLUMN), (64, 128), 4))
    return BundleShape((64, 128), 2, (), tuple(tensors), (), pads_streamed=False)


def npu2(groups: int = 2) -> TileDma:
    return TileDma(rows=4, channels_out=6, groups=groups, lanes=2, leaving=1)


def test_descriptors_count_slots_and_the_rows_that_take_their_own() -> None:
    both = (ROW, COLUMN)
    shape, spread, tiles = elementwise(both, both), Spread((4, 8), 0, 1), (16, 16)
    # Two inputs of 2 slots, each filled once and handed to 4 rows; a result of 1 slot, gathered from 4 rows.
    assert l2_descriptors(shape, tiles, spread, Depths(2, 2, 1), 4, npu2(groups=1)) == 2 * 2 * (1 + 4) + (4 + 1)
    # A lane each; out-channels 0 and 1 for all rows, 2 for results, whose in-channels are 2 to 5.
    assert l2_descriptors(shape, tiles, spread, Depths(2, 2, 1), 4, npu2()) == 2 * (1 + 4) + 2 + 1
    assert l2_descriptors(shape, tiles, spread, Depths(1, 2, 1), 4, npu2()) == 1 * (1 + 4) + 2 + 1


def test_what_follows_the_rows_alone_has_channels_of_its_own() -> None:
    spread = Spread((4, 8), 0, 1)
    shape = elementwise((ROW, COLUMN), (ROW, COLUMN), (ROW,))
    # 20 of what follows columns in the odd group; 2 slots, filled and handed to one row, and results in the even one.
    assert l2_descriptors(shape, (16, 16), spread, Depths(2, 2, 1), 4, npu2()) == 20 + 2


def test_results_that_overhang_take_a_descriptor_for_each_way_to_be_cut_off() -> None:
    shape, spread = elementwise((ROW, COLUMN)), Spread((1, 1), 0, 1)
    dma = TileDma(rows=1, channels_out=6, groups=1, lanes=2, leaving=1)
    # 2 + 2 of the input; a result's slot is filled once, and leaves whole, without 6 rows, without 12 columns, or both.
    assert l2_descriptors(shape, (16, 16), spread, Depths(2, 2, 1), 1, dma) == 4 + 1 + 1
    assert l2_descriptors(shape, (14, 28), spread, Depths(2, 2, 1), 1, dma) == 4 + 1 + 2 * 2


def test_the_left_over_piece_of_a_streamed_loop_takes_descriptors_of_its_own() -> None:
    row = BundleTensor("row", Role.INPUT, (ROW, SUMMED), (1, 10), 1)
    dma = TileDma(rows=1, channels_out=6, groups=1, lanes=2, leaving=1)
    for pads, pieces in ((False, 2), (True, 1)):
        shape = BundleShape((1, 1, 10), 2, (2,), (row,), (), pads_streamed=pads)
        assert l2_descriptors(shape, (1, 1, 5), Spread((1, 1), 0, 1), Depths(2, 2, 1), 1, dma) == 4
        assert l2_descriptors(shape, (1, 1, 4), Spread((1, 1), 0, 1), Depths(2, 2, 1), 1, dma) == 4 * pieces


def test_the_left_over_piece_of_a_streamed_loop_has_buffers_of_its_own_even_between_ops() -> None:
    row = BundleTensor("row", Role.INPUT, (SUMMED,), (10,), 1)
    wide = BundleTensor("wide", Role.LOCAL, (SUMMED,), (10,), 4)
    shape = BundleShape((1, 1, 10), 2, (2,), (row, wide), (), pads_streamed=False)
    depths = Depths(2, 2, 1)
    assert l1_bytes(shape, (1, 1, 5), depths, 1) == 2 * 5 + 4 * 5
    # 10 = 4 + 4 + 2: pieces of 4 and a last one of 2.
    assert l1_bytes(shape, (1, 1, 4), depths, 1) == 2 * (4 + 2) + 4 * (4 + 2)
    assert l1_bytes(shape, (1, 1, 4), depths, 32) == 2 * (32 + 32) + (32 + 32)


def window(size: int, dilation: int, results: int) -> BundleShape:
    """Three taps over a vector of `size`, for `results` of them and 8 channels: what is missing is zeros."""
    dims = (Linear(((0, 1), (2, dilation))), COLUMN)
    image, result = (
        BundleTensor("in", Role.INPUT, dims, (size, 8), 1),
        BundleTensor("out", Role.OUTPUT, dims[1:], (8,), 1),
    )
    return BundleShape((results, 8, 3), 2, (), (image, result), (), pads_streamed=False)


def test_zeros_take_no_room_where_the_dma_of_l2_inserts_them() -> None:
    shape, spread, depths = window(10, 5, 10), Spread((1, 1), 0, 1), Depths(2, 2, 1)
    # 10 results reach over 20 elements, 4 over 14: 10 exist. One result reaches over 11. A single block takes one slot.
    assert l2_bytes(shape, (10, 8, 3), spread, (0, 1), depths, 1) == 20 * 8 + 8
    assert l2_bytes(shape, (10, 8, 3), spread, (0, 1), depths, 1, clips=True) == 10 * 8 + 8
    assert l2_bytes(shape, (4, 8, 3), spread, (0, 1), depths, 1, clips=True) == 2 * 10 * 8 + 8
    assert l2_bytes(window(12, 5, 12), (1, 8, 3), spread, (0, 1), depths, 1, clips=True) == 2 * 11 * 8 + 8


def test_blocks_that_edges_cut_off_take_descriptors_of_their_own() -> None:
    spread, depths, dma = (
        Spread((1, 1), 0, 1),
        Depths(2, 2, 1),
        TileDma(rows=1, channels_out=6, groups=1, lanes=2, leaving=1),
    )
    # 2 slots, filled and emptied; a result of 1 slot. Whole, in two halves, and of many blocks those at the edges.
    for tile, ways in ((10, 1), (5, 2), (1, 3 + 10)):
        shape = window(10, 5, 10)
        expected = 2 * 2 * min(ways, -(-10 // tile)) + 2
        assert l2_descriptors(shape, (tile, 8, 3), spread, depths, 1, dma, clips=True) == expected
    assert l2_descriptors(window(100, 1, 100), (10, 8, 3), spread, depths, 1, dma, clips=True) == 2 * 2 * 3 + 2
    assert l2_descriptors(window(100, 1, 98), (7, 8, 3), spread, depths, 1, dma, clips=True) == 2 * 2 + 2
