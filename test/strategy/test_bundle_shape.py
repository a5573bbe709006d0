"""What a bundle's tile takes of memories and descriptors."""

from __future__ import annotations

from npuflow.frontend.linear import Linear
from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
    l1_bytes,
    l2_descriptors,
)

ROW, COLUMN, SUMMED = (Linear(((loop, 1),)) for loop in range(3))


def elementwise(*inputs: tuple[Linear, ...]) -> BundleShape:
    """Inputs of a 64x128 f32 op along the given dimensions."""
    tensors = [BundleTensor(f"in{i}", Role.INPUT, dims, (64, 128)[: len(dims)], 4) for i, dims in enumerate(inputs)]
    tensors.append(BundleTensor("out", Role.OUTPUT, (ROW, COLUMN), (64, 128), 4))
    return BundleShape((64, 128), 2, (), tuple(tensors), (), pads_streamed=False)


def test_descriptors_count_slots_and_the_rows_that_take_their_own() -> None:
    both = (ROW, COLUMN)
    shape, spread = elementwise(both, both), Spread((4, 8), 0, 1)
    # Two inputs of 2 slots, each filled once and handed to 4 rows; a result of 1 slot, gathered from 4 rows.
    assert l2_descriptors(shape, spread, Depths(2, 2, 1), row_tiles=4, groups=1) == 2 * 2 * (1 + 4) + (4 + 1)
    assert l2_descriptors(shape, spread, Depths(2, 2, 1), row_tiles=4, groups=2) == 10 + 3
    assert l2_descriptors(shape, spread, Depths(1, 2, 1), row_tiles=4, groups=2) == 5 + 3


def test_what_follows_the_rows_alone_has_channels_of_its_own() -> None:
    spread = Spread((4, 8), 0, 1)
    shape = elementwise((ROW, COLUMN), (ROW, COLUMN), (ROW,))
    # 20 of what follows columns in one group, 2 slots of one part each in the other; half of the result in each.
    assert l2_descriptors(shape, spread, Depths(2, 2, 1), row_tiles=4, groups=2) == 20 + 3


def test_the_left_over_piece_of_a_streamed_loop_has_buffers_of_its_own_even_between_ops() -> None:
    row = BundleTensor("row", Role.INPUT, (SUMMED,), (10,), 1)
    wide = BundleTensor("wide", Role.LOCAL, (SUMMED,), (10,), 4)
    shape = BundleShape((1, 1, 10), 2, (2,), (row, wide), (), pads_streamed=False)
    depths = Depths(2, 2, 1)
    assert l1_bytes(shape, (1, 1, 5), depths) == 2 * 5 + 4 * 5
    # 10 = 4 + 4 + 2: pieces of 4 and a last one of 2.
    assert l1_bytes(shape, (1, 1, 4), depths) == 2 * (4 + 2) + 4 * (4 + 2)
