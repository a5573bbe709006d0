"""A bundle as numbers: loops, tensors and work, and how they are cut into tiles and spread. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from math import prod

from npuflow.ops.linear import Linear
from npuflow.ops.products import Products
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

    @cached_property
    def cut_off(self) -> dict[str, frozenset[int]]:
        """The loops along which windows reach over a tensor's edge, where transfers are cut off."""
        return {
            tensor.name: frozenset(
                loop
                for dim, size in zip(tensor.dims, tensor.shape)
                if dim.extent(self.sizes) > size
                for loop, _ in dim.terms
            )
            for tensor in self.tensors
        }

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


def goes_by_rows(shape: BundleShape, tensor: BundleTensor, spread: Spread) -> bool:
    """Whether a memory tile has a tensor for a row of cores: parts for rows alone, or one copy for the only row."""
    if tensor.role is not Role.INPUT or tensor.follows(spread.columns):
        return False
    if spread.grid[0] > 1:
        return tensor.follows(spread.rows)
    by_columns = sum(other.role is Role.INPUT and other.follows(spread.columns) for other in shape.tensors)
    return spread.grid[1] > 1 and by_columns < 2


def trips(shape: BundleShape, tiles: Tiles, spread: Spread) -> list[int]:
    """How often each loop of the space steps from block to block."""
    block = spread.block(tiles)
    return [-(-shape.sizes[loop] // block[loop]) for loop in range(shape.space)]


def pieces(shape: BundleShape, tiles: Tiles) -> int:
    """How many pieces the streamed loops are cut into."""
    return prod(-(-shape.sizes[loop] // tiles[loop]) for loop in shape.streamed)


def streams_through(shape: BundleShape, tensor: BundleTensor) -> bool:
    """Whether a tensor comes in pieces where streamed loops are cut."""
    return any(tensor.follows(loop) for loop in shape.streamed)


def steps_of(shape: BundleShape, dim: Linear, tiles: Tiles, counts: Sequence[int]) -> int:
    """How many places a dimension's loops step through; `counts` are those of the space."""
    return prod(turns_of(shape, loop, tiles, counts) for loop, _ in dim.terms)


def turns_of(shape: BundleShape, loop: int, tiles: Tiles, counts: Sequence[int]) -> int:
    """How often a loop steps: from block to block, or from piece to piece."""
    return counts[loop] if loop < shape.space else -(-shape.sizes[loop] // tiles[loop])
