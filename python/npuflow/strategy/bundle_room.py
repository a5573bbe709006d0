"""What a bundle's tiles take: bytes of L1 and L2, and descriptors of memory tiles. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.ops.products import padded
from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
    Tiles,
    goes_by_rows,
    steps_of,
    streams_through,
)
from npuflow.strategy.lane_descriptors import Lane, Moved, Results, TileDma, evenest, fullest_group, lanes_of


def l1_bytes(shape: BundleShape, tiles: Tiles, depths: Depths, alignment: int, spread: Spread | None = None) -> int:
    """What a core's buffers take; the last piece of a streamed loop has buffers of its own where it is smaller.

    By the spread one knows what comes in just once, and so has one slot.
    """
    slots = {Role.INPUT: depths.l1, Role.LOCAL: 1, Role.OUTPUT: depths.result}
    total = 0
    for tensor in shape.tensors:
        once = spread is not None and tensor.role is Role.INPUT and comes_once(shape, tensor, tiles, spread)
        size = _with_left_over(shape, tensor, tensor.l1_bytes(tiles), tiles, alignment)
        total += size * (1 if once else slots[tensor.role])
    return total


def comes_once(shape: BundleShape, tensor: BundleTensor, tiles: Tiles, spread: Spread) -> bool:
    """Whether a tensor doesn't come again with another block or piece."""
    return all(
        tiles[loop] * spread.cores(loop) >= shape.sizes[loop]
        for loop in tensor.loops
        if loop < shape.space or loop in shape.streamed
    )


def tiles_in_l2(
    shape: BundleShape, tensor: BundleTensor, tiles: Tiles, spread: Spread, order: Sequence[int], depths: Depths
) -> Tiles:
    """The tiles of what comes into L2 at a time: all pieces together of what is held."""
    if not depths.hold or tensor.role is not Role.INPUT or not streams_through(shape, tensor):
        return tiles
    stepping = (loop for loop in reversed(order) if tiles[loop] * spread.cores(loop) < shape.sizes[loop])
    if tensor.follows(next(stepping, -1)):
        return tiles
    whole = list(tiles)
    for loop in shape.streamed:
        whole[loop] = padded(shape.sizes[loop], tiles[loop]) if shape.pads_streamed else shape.sizes[loop]
    return whole


def _with_left_over(shape: BundleShape, tensor: BundleTensor, tile_bytes: int, tiles: Tiles, alignment: int = 1) -> int:
    total = padded(tile_bytes, alignment)
    if shape.pads_streamed:
        return total
    for loop in shape.streamed:
        if tensor.follows(loop):
            left = -(-total * (shape.sizes[loop] % tiles[loop]) // tiles[loop])
            total += padded(left, alignment)
    return total


def l2_bytes(
    shape: BundleShape,
    tiles: Tiles,
    spread: Spread,
    order: Sequence[int],
    depths: Depths,
    row_tiles: int,
    clips: bool = False,
) -> int:
    """What the fullest memory tile holds; `row_tiles` of them serve the rows. Clipped, it holds no zeros of inputs."""
    total = 0
    for tensor in shape.tensors:
        if tensor.role is Role.LOCAL:
            continue
        own = tiles_in_l2(shape, tensor, tiles, spread, order, depths)
        slots = depths.l2 if tensor.role is Role.INPUT else depths.result
        slots = 1 if tensor.role is Role.INPUT and comes_once(shape, tensor, own, spread) else slots
        by_rows = goes_by_rows(shape, tensor, spread)
        size = tensor.stored_bytes if clips and tensor.role is Role.INPUT else tensor.bytes
        share = size(own) * (spread.grid[0] // row_tiles) if by_rows else size(spread.column(own))
        total += slots * _with_left_over(shape, tensor, share, own)
    return total


def l1_descriptors(shape: BundleShape, tiles: Tiles, spread: Spread, depths: Depths) -> int:
    """The descriptors beside a core: one for each slot of what comes in and goes out."""
    total = 0
    for tensor in shape.tensors:
        if tensor.role is Role.INPUT:
            slots = 1 if comes_once(shape, tensor, tiles, spread) else depths.l1
            total += slots * _buffers(shape, tensor, tiles)
        total += depths.result if tensor.role is Role.OUTPUT else 0
    return total


def l2_descriptors(
    shape: BundleShape, tiles: Tiles, spread: Spread, depths: Depths, row_tiles: int, dma: TileDma, clips: bool = False
) -> int:
    """The descriptors of a memory tile, of which its channels in turn have a group each: those of the fullest group.

    Each slot takes one to be filled and one for each part that it is emptied in: what follows the rows is handed to
    every row of cores, and results are gathered from each, on its own. What only follows the rows has channels of its
    own; where nothing does, buffers take the lanes that even descriptors out. Results, and inputs that are clipped,
    take as many for each way in which a block is cut off.
    """
    rows, together = spread.grid[0], spread.grid[0] // row_tiles
    by_rows, moved, gathered, left, block = 0, [], 0, 0, spread.block(tiles)
    for tensor in shape.tensors:
        if tensor.role is Role.OUTPUT:
            gathered, left = gathered + depths.result, left + depths.result * _cuts(shape, tensor, block, tiles)
        if tensor.role is not Role.INPUT:
            continue
        slots = depths.l2 * (_cuts(shape, tensor, block, tiles) if clips else 1) * _buffers(shape, tensor, tiles)
        if goes_by_rows(shape, tensor, spread):
            by_rows += slots
        else:
            moved.append(Moved(slots, slots, tensor.follows(spread.rows)))
    results = Results(gathered, left)
    if not by_rows:
        choice = evenest(tuple(moved), results, dma)
        return fullest_group(lanes_of(moved, choice, dma), results, dma)
    columns = sum(buffer.filled for buffer in moved), sum(b.emptied * (rows if b.by_rows else 1) for b in moved)
    return fullest_group([Lane(0, by_rows * together, by_rows, together), Lane(1, *columns)], results, dma)


def _buffers(shape: BundleShape, tensor: BundleTensor, tiles: Tiles) -> int:
    """How many buffers a tensor has: one more for each streamed loop whose last piece is smaller."""
    if shape.pads_streamed:
        return 1
    return 2 ** sum(shape.sizes[loop] % tiles[loop] > 0 for loop in shape.streamed if tensor.follows(loop))


def _cuts(shape: BundleShape, tensor: BundleTensor, block: Sequence[int], tiles: Tiles) -> int:
    """In how many ways at most a tensor's blocks are cut off: a few at an edge, each in its way, others not.

    Inputs may reach over either edge, results over the far one alone.
    """
    counts, ways = [-(-size // step) for size, step in zip(shape.sizes, block)], 1
    for dim, size in zip(tensor.dims, tensor.shape):
        steps = steps_of(shape, dim, tiles, counts)
        advance = min((c * block[loop] for loop, c in dim.terms), default=1)
        missing = sum(c * (counts[loop] * block[loop] - 1) for loop, c in dim.terms) + 1 - size
        cut = -(-missing // advance) if tensor.role is Role.OUTPUT else 2 + missing // advance
        ways *= min(steps, 1 + cut) if missing > 0 else 1
    return ways
