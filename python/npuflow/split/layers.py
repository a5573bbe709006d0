"""The tiles of a convolution's or a pool's result, and what each reads of its input: all four axes, NCHW. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from npuflow.errors import InputError, with_hint
from npuflow.split.spans import MOST_TILES, Span, split_axis
from npuflow.split.windows import SlidingWindow, WindowRead

BATCH, CHANNEL, ROW, COLUMN = range(4)
AXES = 4
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """An op that slides windows over an image's rows and columns: sizes are of batch, channels, rows and columns.

    Channels come in so many `groups`, and a result's channel reads those of its group: all in a convolution, one in a
    depthwise one or a pool.
    """

    input: Sizes
    channels: int
    rows: SlidingWindow
    columns: SlidingWindow
    groups: int = 1

    @property
    def output(self) -> Sizes:
        batch, _, height, width = self.input
        return (batch, self.channels, self.rows.output_size(height), self.columns.output_size(width))


@dataclass(frozen=True)
class LayerTile:
    """A part of a result and what it reads, an entry for each axis; only rows and columns have padding."""

    output: tuple[Span, ...]
    input: tuple[WindowRead, ...]


def layer_tiles(layer: Layer, tiles: Sizes, alignment: Sizes = (1,) * AXES) -> tuple[LayerTile, ...]:
    """A layer's result in so many tiles along each axis, channels innermost, then columns, rows and batch.

    An axis that isn't split is read whole.
    """
    if len(tiles) != AXES or len(alignment) != AXES:
        what = f"{len(tiles)} numbers of tiles and {len(alignment)} alignments"
        raise InputError(with_hint(what, "give one for batch, channels, rows and columns each, as in 1,1,2,1"))
    if prod(tiles) > MOST_TILES:
        raise InputError(with_hint(f"{prod(tiles)} tiles", f"at most {MOST_TILES}"))
    axes = [split_axis(*each) for each in zip(layer.output, tiles, alignment)]
    return tuple(
        LayerTile(spans, tuple(_reads(layer, axis, spans[axis], len(axes[axis]) > 1) for axis in range(AXES)))
        for spans in _in_order(axes)
    )


def _in_order(axes: list[tuple[Span, ...]]) -> Iterator[tuple[Span, ...]]:
    order = (BATCH, ROW, COLUMN, CHANNEL)
    for picked in product(*(axes[axis] for axis in order)):
        yield tuple(picked[order.index(axis)] for axis in range(AXES))


def _reads(layer: Layer, axis: int, output: Span, is_split: bool) -> WindowRead:
    size = layer.input[axis]
    if axis == BATCH:
        return WindowRead(output)
    if axis == CHANNEL:
        return WindowRead(_channels(layer, output) if is_split else Span(0, size))
    window = layer.rows if axis == ROW else layer.columns
    return window.reads(output, size) if is_split else window.whole(size)


def _channels(layer: Layer, output: Span) -> Span:
    """The input channels of all groups that some result channels are of."""
    made, read = layer.channels // layer.groups, layer.input[CHANNEL] // layer.groups
    begin, end = output.begin // made, -(-output.end // made)
    return Span(begin * read, (end - begin) * read)
