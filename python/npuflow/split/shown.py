"""Layers and chains that have been split, as JSON and as lines of text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuflow.split.chains import ChainTile, ValueSlice
from npuflow.split.layers import COLUMN, ROW, Layer, LayerTile, Sizes
from npuflow.split.spans import Span

Json = Mapping[str, object]
SIDES = ("top", "bottom", "left", "right")
_AXES = ("batch", "channels", "rows", "columns")


@dataclass(frozen=True)
class LayerSplit:
    """A layer's tiles; `given` is what it was described by."""

    given: Json
    layer: Layer
    tiling: Sizes
    tiles: tuple[LayerTile, ...]

    def json(self) -> dict[str, object]:
        tiles = [_layer_json(tile) for tile in self.tiles]
        return {**self.given, "output": list(self.layer.output), "tiling": list(self.tiling), "tiles": tiles}

    def lines(self) -> list[str]:
        name, sizes = self.given.get("op", "layer"), (self.layer.input, self.layer.output, self.tiling)
        read, made, tiling = ("x".join(map(str, each)) for each in sizes)
        return [
            f"{name} {read} to {made}, {tiling} tiles",
            *(line for tile in self.tiles for line in _layer_lines(tile)),
        ]


@dataclass(frozen=True)
class ChainSplit:
    """A chain's tiles, and the sizes of its values."""

    given: Json
    sizes: Mapping[str, int]
    tiles: tuple[ChainTile, ...]

    def json(self) -> dict[str, object]:
        return {**self.given, "sizes": dict(self.sizes), "tiles": [_chain_json(tile) for tile in self.tiles]}

    def lines(self) -> list[str]:
        sizes = ", ".join(f"{name} {size}" for name, size in self.sizes.items())
        title = f"chain of {sizes}, {len(self.tiles)} tiles"
        return [title, *(line for at, tile in enumerate(self.tiles) for line in _chain_lines(at, tile))]


def _pads(tile: LayerTile) -> dict[str, int]:
    rows, columns = tile.input[ROW], tile.input[COLUMN]
    return dict(zip(SIDES, (rows.pad_before, rows.pad_after, columns.pad_before, columns.pad_after)))


def _layer_json(tile: LayerTile) -> dict[str, object]:
    return {
        "out_offset": [span.begin for span in tile.output],
        "out_size": [span.size for span in tile.output],
        "in_offset": [read.span.begin for read in tile.input],
        "in_size": [read.span.size for read in tile.input],
        "pad": _pads(tile),
    }


def _layer_lines(tile: LayerTile) -> list[str]:
    padding = ", ".join(f"{side} {count}" for side, count in _pads(tile).items() if count) or "none"
    made, read = _named(tile.output), _named([each.span for each in tile.input])
    return [f"  {made}", f"    reads {read}; padding {padding}"]


def _named(spans: Sequence[Span]) -> str:
    return ", ".join(f"{name} {span.begin}+{span.size}" for name, span in zip(_AXES, spans))


def _chain_json(tile: ChainTile) -> dict[str, object]:
    values = {name: {"offset": span.begin, "size": span.size} for name, span in tile.values.items()}
    return {"values": values, "slices": [_slice_json(one) for one in tile.slices]}


def _slice_json(one: ValueSlice) -> dict[str, object]:
    read = one.read
    where = {"offset": read.span.begin, "size": read.span.size, "within": one.offset}
    return {"step": one.step, "value": one.value, **where, "pad": [read.pad_before, read.pad_after]}


def _chain_lines(at: int, tile: ChainTile) -> list[str]:
    values = ", ".join(f"{name} {span.begin}+{span.size}" for name, span in tile.values.items())
    return [f"  tile {at}: {values}", *(f"    {_slice_text(one)}" for one in tile.slices)]


def _slice_text(one: ValueSlice) -> str:
    read = one.read
    padding = f", padding {read.pad_before} before and {read.pad_after} behind"
    shown = padding if read.pad_before or read.pad_after else ""
    return f"{one.step} reads {one.value} {read.span.begin}+{read.span.size}, at {one.offset} of the tile's{shown}"
