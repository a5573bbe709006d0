"""What each tile of an output reads of the input: offsets, sizes and padding, per axis.

An axis is a `Window` (rows and columns of convolutions and pools), or `Channels` (convolutions read all channels of a
group, pools and depthwise convolutions the channel that they write). An output is split per axis into tiles, by their
number or by their sizes. A tile reads the part of the input that its windows cover; what lies outside of the input is
the tile's padding. An axis that isn't split is read whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from npuflow.errors import UsageError, with_hint

# How an axis is split: into a number of tiles, or into tiles of these sizes.
Split = int | tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """The elements from `offset` on along an axis."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True)
class Piece:
    """What is read along an axis: elements that exist, and how many are missing before and behind them."""

    offset: int
    size: int
    pad_before: int = 0
    pad_after: int = 0


@dataclass(frozen=True)
class Window:
    """An axis of `size` input elements that a kernel moves along."""

    size: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    pad_before: int = 0
    pad_after: int = 0

    @property
    def reach(self) -> int:
        """How many elements lie between the ends of one window, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def output_size(self) -> int:
        return (self.size + self.pad_before + self.pad_after - self.reach) // self.stride + 1

    def read(self, tile: Span) -> Piece:
        """What the windows of a tile cover."""
        begin = tile.offset * self.stride - self.pad_before
        end = (tile.end - 1) * self.stride + self.reach - self.pad_before
        offset = min(max(begin, 0), self.size)
        size = max(min(end, self.size) - offset, 0)
        return Piece(offset, size, max(min(end, 0) - begin, 0), max(end - max(begin, self.size), 0))

    def read_whole(self) -> Piece:
        """All of the input, which windows need not cover to its end; padding that none of them reaches is dropped."""
        end = (self.output_size - 1) * self.stride + self.reach - self.pad_before
        return Piece(0, self.size, self.pad_before, max(end - self.size, 0))


@dataclass(frozen=True)
class Channels:
    """Channels that are read in groups: all are one group in a plain convolution, each is its own in a pool."""

    size: int
    output_size: int
    groups: int = 1

    def read(self, tile: Span) -> Piece:
        """The channels of all groups that a tile writes to."""
        written, read = self.output_size // self.groups, self.size // self.groups
        first, last = tile.offset // written, (tile.end - 1) // written
        return Piece(first * read, (last - first + 1) * read)

    def read_whole(self) -> Piece:
        return Piece(0, self.size)


Axis = Window | Channels


@dataclass(frozen=True)
class Tile:
    """One tile of the output and what it reads, per axis."""

    output: tuple[Span, ...]
    input: tuple[Piece, ...]


def tiles_of(axes: Sequence[Axis], splits: Sequence[Split], alignments: Sequence[int] = ()) -> list[Tile]:
    """Every tile, the last axis fastest; raises UsageError where an axis cannot be split so."""
    steps = [*alignments, *[1] * (len(axes) - len(alignments))]
    parts = [_axis_tiles(axis, split, step) for axis, split, step in zip(axes, splits, steps, strict=True)]
    return [Tile(tuple(o for o, _ in tile), tuple(i for _, i in tile)) for tile in product(*parts)]


def spans_of(size: int, split: Split, alignment: int = 1) -> list[Span]:
    """An axis of `size` elements in tiles.

    Tiles of a number differ by at most one, the larger ones first; all but the last are multiples of an `alignment`.
    """
    sizes = list(split) if isinstance(split, tuple) else _sizes(size, split, alignment)
    if not sizes or min(sizes) <= 0 or sum(sizes) != size:
        what = f"{size} elements cannot be split into {len(sizes)} tiles of {', '.join(map(str, sizes))}"
        raise UsageError(with_hint(what, "use fewer tiles, or a smaller alignment"))
    offsets = [sum(sizes[:i]) for i in range(len(sizes))]
    return [Span(offset, length) for offset, length in zip(offsets, sizes)]


def read_through(axes: Sequence[Window], tile: Span) -> list[Piece]:
    """What a tile of the last axis's output reads of each axis's input, for windows that follow each other."""
    pieces: list[Piece] = []
    for axis in reversed(axes):
        pieces.append(axis.read(tile))
        tile = Span(pieces[-1].offset, pieces[-1].size)
    return pieces[::-1]


def _sizes(size: int, count: int, alignment: int) -> list[int]:
    if count <= 0:
        return []
    if alignment == 1:
        return [size // count + (index < size % count) for index in range(count)]
    step = -(-size // (count * alignment)) * alignment
    return [*[step] * (count - 1), size - step * (count - 1)]


def _axis_tiles(axis: Axis, split: Split, alignment: int) -> list[tuple[Span, Piece]]:
    spans = spans_of(axis.output_size, split, alignment)
    if len(spans) == 1:
        return [(spans[0], axis.read_whole())]
    return [(span, axis.read(span)) for span in spans]
