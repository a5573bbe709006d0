"""What a bundle moves between L3 and L2, and how often. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuflow.strategy.bundle_room import tiles_in_l2
from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
    Tiles,
    pieces,
    steps_of,
    streams_through,
    trips,
    turns_of,
)


def visits(shape: BundleShape, tensor: BundleTensor, tiles: Tiles, counts: Sequence[int], order: Sequence[int]) -> int:
    """How often a tensor's block moves between L3 and L2: it stays while only loops step that it doesn't follow."""
    streams = pieces(shape, tiles) if tensor.role is Role.INPUT and streams_through(shape, tensor) else 1
    last = len(order) if streams > 1 else 0
    for place, loop in enumerate(order):
        if tensor.follows(loop) and counts[loop] > 1:
            last = max(last, place + 1)
    return prod(counts[loop] for loop in order[:last]) * streams


def traffic_bytes(
    shape: BundleShape, tiles: Tiles, spread: Spread, order: Sequence[int], depths: Depths
) -> dict[str, int]:
    """What crosses between L3 and L2 for each tensor; what lies outside of the tensor doesn't, overlaps do."""
    counts = trips(shape, tiles, spread)
    moved = {}
    for tensor in shape.tensors:
        if tensor.role is not Role.LOCAL:
            own = tiles_in_l2(shape, tensor, tiles, spread, order, depths)
            elements = _moved_elements(shape, tensor, own, spread.block(own), counts)
            turns = visits(shape, tensor, own, counts, order)
            moved[tensor.name] = elements * turns // _covered(shape, tensor, own, counts) * tensor.element_bytes
    return moved


def _moved_elements(
    shape: BundleShape, tensor: BundleTensor, tiles: Tiles, block: Sequence[int], counts: Sequence[int]
) -> int:
    """Elements of all the blocks that differ, once each."""
    elements = 1
    for dim, size in zip(tensor.dims, tensor.shape):
        steps = steps_of(shape, dim, tiles, counts)
        advance = sum(c * block[loop] for loop, c in dim.terms if turns_of(shape, loop, tiles, counts) > 1)
        extent = dim.extent(block)
        overlap = max(0, extent - advance)
        elements *= min(steps * extent, size + (steps - 1) * overlap)
    return elements


def _covered(shape: BundleShape, tensor: BundleTensor, tiles: Tiles, counts: Sequence[int]) -> int:
    """How many blocks of a tensor differ."""
    return prod(steps_of(shape, dim, tiles, counts) for dim in tensor.dims)
