"""What a mapped group moves between L3 and L2, and how often. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuflow.ops.linear import Linear
from npuflow.strategy.group import Group, Role, Tensor, Tiles
from npuflow.strategy.mapping import Mapping, pieces, steps_of, turns_of


def visits(group: Group, tensor: Tensor, tiles: Tiles, counts: Sequence[int], order: Sequence[int]) -> int:
    """How often a tensor's block moves between L3 and L2: it stays while only loops step that it doesn't follow."""
    streams = pieces(group, tiles) if tensor.role is Role.INPUT and group.streams_through(tensor) else 1
    around = order if streams > 1 else order[: len(order) - stays(tensor, counts, order)]
    return prod(counts[loop] for loop in around) * streams


def stays(tensor: Tensor, counts: Sequence[int], order: Sequence[int]) -> int:
    """How many of the innermost loops over blocks a tensor stays in L2 for."""
    number = 0
    for loop in reversed(order):
        if counts[loop] > 1 and tensor.follows(loop):
            break
        number += 1
    return number


def traffic_bytes(
    group: Group, mapping: Mapping, tensor: Tensor, tiles: Tiles, turns: int, counts: Sequence[int], copies: int
) -> int:
    """What crosses between L3 and L2 for a tensor that comes as such tiles in so many turns, of so `counts` per loop.

    What lies outside of the tensor doesn't, overlaps do. All of it comes as `copies` for those who share nothing.
    """
    elements = covered = 1
    block = mapping.spread.block(tiles)
    for dim, size in zip(tensor.dims, tensor.shape):
        steps = steps_of(group, dim, tiles, counts)
        covered *= steps
        elements *= _moved_elements(group, dim, size, steps, tiles, block, counts)
    return elements * turns // covered * tensor.element_bytes * copies


def _moved_elements(
    group: Group, dim: Linear, size: int, steps: int, tiles: Tiles, block: Sequence[int], counts: Sequence[int]
) -> int:
    """What all the blocks that differ have of a dimension, each once."""
    extent = dim.extent(block)
    if steps == 1:
        return min(extent, size)
    advance = sum(c * block[loop] for loop, c in dim.terms if turns_of(group, loop, tiles, counts) > 1)
    overlap = max(0, extent - advance)
    return min(steps * extent, size + (steps - 1) * overlap)
