"""A bundle as numbers: loops, tensors and work; what a tile takes of L1 and L2, and what it moves. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from math import prod

from npuflow.frontend.linear import Linear
from npuflow.frontend.products import Products, padded
from npuflow.strategy.lane_descriptors import Lane, Moved, Results, TileDma, evenest, fullest_group, lanes_of
from npuflow.strategy.vector_cycles import VectorWork

Tiles = Sequence[int]


class Role(Enum):
    """What a bundle does with a tensor."""

    INPUT = "input"
    LOCAL = "local"
    OUTPUT = "output"


@dataclass(frozen=True)
class BundleTensor:
    """A tensor that a bundle reads, makes for itself or gives away; `dims` say how loops walk through it.

    A `gathered` one lies in L1 with a dimension for each of its loops, windows copied out one by one.
    """

    name: str
    role: Role
    dims: tuple[Linear, ...]
    shape: tuple[int, ...]
    element_bytes: int
    gathered: bool = False

    def bytes(self, tiles: Tiles) -> int:
        """What a tile touches of it, halo included."""
        return prod(dim.extent(tiles) for dim in self.dims) * self.element_bytes

    def stored_bytes(self, tiles: Tiles) -> int:
        """What a tile touches of what exists: without the zeros around it."""
        return prod(min(dim.extent(tiles), size) for dim, size in zip(self.dims, self.shape)) * self.element_bytes

    def l1_bytes(self, tiles: Tiles) -> int:
        """What a tile takes in L1."""
        if not self.gathered:
            return self.bytes(tiles)
        return prod(tiles[loop] for loop in self.loops) * self.element_bytes

    @cached_property
    def loops(self) -> frozenset[int]:
        """The loops that it follows."""
        return frozenset(loop for dim in self.dims for loop, _ in dim.terms)

    def follows(self, loop: int) -> bool:
        return loop in self.loops

    def run_bytes(self, tiles: Tiles) -> int:
        """The contiguous bytes of a tile in a row-major tensor."""
        run = self.element_bytes
        for dim, size in zip(reversed(self.dims), reversed(self.shape)):
            extent = min(dim.extent(tiles), size)
            run *= extent
            if extent < size:
                break
        return run


@dataclass(frozen=True)
class Work:
    """One op: its loops, what it is to the vector unit, and to matrix instructions if they could do it."""

    loops: tuple[int, ...]
    vector: VectorWork
    products: Products | None = None


@dataclass(frozen=True)
class BundleShape:
    """`sizes` of all loops: the first `space` are split over blocks and cores, `streamed` ones may go piece by piece.

    Zeros may be added to a streamed loop where they change no sum (`pads_streamed`).
    """

    sizes: tuple[int, ...]
    space: int
    streamed: tuple[int, ...]
    tensors: tuple[BundleTensor, ...]
    work: tuple[Work, ...]
    pads_streamed: bool

    def with_gather(self) -> BundleShape | None:
        """The same with windows gathered on their way into L1; None where no sum of products has any."""
        wanted = [number for work in self.work if work.products for number in work.products.windowed]
        if len(self.work) == 0 or not wanted or len([w for w in self.work if w.products]) != 1:
            return None
        windowed = {id(t) for t in self.tensors if t.role is Role.INPUT and any(len(d.terms) > 1 for d in t.dims)}
        if len(windowed) != len(wanted):
            return None
        tensors = tuple(replace(t, gathered=id(t) in windowed) for t in self.tensors)
        work = tuple(
            replace(w, products=w.products.gathered) if w.products and w.products.gathered else w for w in self.work
        )
        return replace(self, tensors=tensors, work=work)

    def whole(self) -> list[int]:
        """Tiles of one in space, and all of every other loop."""
        return [1] * self.space + list(self.sizes[self.space :])


@dataclass(frozen=True)
class Spread:
    """The grid, and the loops of the space that its rows and columns follow."""

    grid: tuple[int, int]
    rows: int
    columns: int

    def cores(self, loop: int) -> int:
        """Over how many cores a loop is spread."""
        return (self.grid[0] if loop == self.rows else 1) * (self.grid[1] if loop == self.columns else 1)

    def block(self, tiles: Tiles) -> list[int]:
        """The tiles of a whole block."""
        return [tile * self.cores(loop) for loop, tile in enumerate(tiles)]

    def column(self, tiles: Tiles) -> list[int]:
        """The tiles of one column of the array."""
        return [tile * (self.grid[0] if loop == self.rows else 1) for loop, tile in enumerate(tiles)]


@dataclass(frozen=True)
class Depths:
    """Slots of what comes in, in L2 and L1, and of results.

    With `hold`, what stays in L2 while the innermost loop over blocks steps is whole there, and comes into L1 from it
    in pieces of streamed loops.
    """

    l2: int = 2
    l1: int = 2
    result: int = 1
    hold: bool = False


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
    block = spread.block(tiles)
    return all(
        block[loop] >= shape.sizes[loop] for loop in tensor.loops if loop < shape.space or loop in shape.streamed
    )


def tiles_in_l2(
    shape: BundleShape, tensor: BundleTensor, tiles: Tiles, spread: Spread, order: Sequence[int], depths: Depths
) -> Tiles:
    """The tiles of what comes into L2 at a time: all pieces together of what is held."""
    if not depths.hold or tensor.role is not Role.INPUT or not streams_through(shape, tensor):
        return tiles
    block = spread.block(tiles)
    if tensor.follows(next((loop for loop in reversed(order) if block[loop] < shape.sizes[loop]), -1)):
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
        by_rows = tensor.role is Role.INPUT and tensor.follows(spread.rows) and not tensor.follows(spread.columns)
        size = tensor.stored_bytes if clips and tensor.role is Role.INPUT else tensor.bytes
        share = size(own) * (spread.grid[0] // row_tiles) if by_rows else size(spread.column(own))
        total += slots * _with_left_over(shape, tensor, share, own)
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
    by_rows, moved, gathered, left = 0, [], 0, 0
    for tensor in shape.tensors:
        cuts = _cuts(shape, tensor, spread.block(tiles), tiles)
        if tensor.role is Role.OUTPUT:
            gathered, left = gathered + depths.result, left + depths.result * cuts
        if tensor.role is not Role.INPUT:
            continue
        slots = depths.l2 * (cuts if clips else 1) * _buffers(shape, tensor, tiles)
        if tensor.follows(spread.rows) and not tensor.follows(spread.columns):
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
        steps = _steps(shape, dim, tiles, counts)
        advance = min((c * block[loop] for loop, c in dim.terms), default=1)
        missing = sum(c * (counts[loop] * block[loop] - 1) for loop, c in dim.terms) + 1 - size
        cut = -(-missing // advance) if tensor.role is Role.OUTPUT else 2 + missing // advance
        ways *= min(steps, 1 + cut) if missing > 0 else 1
    return ways


def trips(shape: BundleShape, tiles: Tiles, spread: Spread) -> list[int]:
    """How often each loop of the space steps from block to block."""
    block = spread.block(tiles)
    return [-(-shape.sizes[loop] // block[loop]) for loop in range(shape.space)]


def pieces(shape: BundleShape, tiles: Tiles) -> int:
    """How many pieces the streamed loops are cut into."""
    return prod(-(-shape.sizes[loop] // tiles[loop]) for loop in shape.streamed)


def visits(shape: BundleShape, tensor: BundleTensor, tiles: Tiles, counts: Sequence[int], order: Sequence[int]) -> int:
    """How often a tensor's block moves between L3 and L2: it stays while only loops step that it doesn't follow."""
    streams = pieces(shape, tiles) if tensor.role is Role.INPUT and streams_through(shape, tensor) else 1
    last = len(order) if streams > 1 else 0
    for place, loop in enumerate(order):
        if tensor.follows(loop) and counts[loop] > 1:
            last = max(last, place + 1)
    return prod(counts[loop] for loop in order[:last]) * streams


def streams_through(shape: BundleShape, tensor: BundleTensor) -> bool:
    """Whether a tensor comes in pieces where streamed loops are cut."""
    return any(tensor.follows(loop) for loop in shape.streamed)


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
        steps = _steps(shape, dim, tiles, counts)
        advance = sum(c * block[loop] for loop, c in dim.terms if _count(shape, loop, tiles, counts) > 1)
        extent = dim.extent(block)
        overlap = max(0, extent - advance)
        elements *= min(steps * extent, size + (steps - 1) * overlap)
    return elements


def _covered(shape: BundleShape, tensor: BundleTensor, tiles: Tiles, counts: Sequence[int]) -> int:
    """How many blocks of a tensor differ."""
    return prod(_steps(shape, dim, tiles, counts) for dim in tensor.dims)


def _steps(shape: BundleShape, dim: Linear, tiles: Tiles, counts: Sequence[int]) -> int:
    return prod(_count(shape, loop, tiles, counts) for loop, _ in dim.terms)


def _count(shape: BundleShape, loop: int, tiles: Tiles, counts: Sequence[int]) -> int:
    return counts[loop] if loop < shape.space else -(-shape.sizes[loop] // tiles[loop])
