"""What a group's loops are cut into: blocks in time, one tile of a block for each core, pieces of streamed loops."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.ops.bundle import Bundle

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of the grid: `count` cores along a loop, each `step` further, as a `thread` of the mapping."""

    loop: int
    count: int
    step: int
    thread: str


ROWS, COLUMNS = "y", "x"


@dataclass(frozen=True)
class Cuts:
    """Sizes of each loop: a core's `tiles`, what is `in_l2` of it at a time, and the whole `block`.

    Blocks step through the loops of `order`; without a grid, one core does the whole block. With `resident`, what a
    block reads is cut out in front of the loops that don't change it. With `in_place`, a result that continues a given
    sum is that sum where cores begin, so that the two are one buffer; else the sum is read like other operands. With
    `even_one`, a streamed loop of one piece is a loop as well, by which one sees what belongs to a piece.
    """

    tiles: Sizes
    in_l2: Sizes
    block: Sizes
    order: Sizes = ()
    grid: tuple[Coordinate, ...] = ()
    resident: bool = False
    in_place: bool = False
    even_one: bool = False


def sizes_with(bundle: Bundle, tiles: dict[tuple[int, ...], int]) -> Sizes:
    """The sizes of a bundle's loops, with other tiles of some loops of its first op, a matmul."""
    sizes = list(bundle.sizes)
    for loops, tile in tiles.items():
        for loop in loops:
            sizes[bundle.loops[0][loop]] = tile
    return tuple(sizes)
