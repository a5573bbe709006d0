"""Layers and chains to split, as JSON has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuflow.errors import InputError, with_hint
from npuflow.split.chains import ChainStep, chain_sizes, chain_tiles
from npuflow.split.layers import AXES, CHANNEL, Layer, layer_tiles
from npuflow.split.shown import SIDES, ChainSplit, Json, LayerSplit
from npuflow.split.windows import SlidingWindow

# Ops each of whose channels reads all of the input's; of others, channels stay apart unless `groups` says something.
_SUMMING = ("conv", "convolution")
_MOST = 10**9


@dataclass(frozen=True)
class Fields:
    """A JSON object whose values are read with what they must be; `where` says which one it is in messages."""

    values: Json
    where: str

    def refusal(self, key: str, hint: str) -> InputError:
        return InputError(with_hint(f"{self.where}: '{key}' is {str(self.values.get(key))[:60]}", hint))

    def number(self, key: str, default: int | None = None, least: int = 0) -> int:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
            raise self.refusal(key, f"give a whole number from {least} to 1e9")
        return value

    def numbers(self, key: str, count: int, default: Sequence[int] | None = None, least: int = 1) -> tuple[int, ...]:
        value = default if self.values.get(key) is None else self.values[key]
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != count:
            raise self.refusal(key, f"give a list of {count} whole numbers")
        found = tuple(each for each in value if isinstance(each, int) and not isinstance(each, bool))
        if len(found) != count or not all(least <= each <= _MOST for each in found):
            raise self.refusal(key, f"give {count} whole numbers from {least} to 1e9")
        return found

    def inner(self, key: str) -> Fields:
        value = self.values.get(key) or {}
        if not isinstance(value, Mapping):
            raise self.refusal(key, "give an object")
        return Fields(value, f"{self.where}, {key}")


def split_case(case: object, where: str) -> LayerSplit | ChainSplit:
    """A layer or a chain with its tiles; raises InputError for what is wrong with it."""
    if not isinstance(case, Mapping):
        raise InputError(with_hint(f"{where} is {str(case)[:60]}", "give an object, of a layer or of a chain"))
    fields = Fields(case, where)
    return _split_chain(fields) if "chain" in case else _split_layer(fields)


def _split_layer(fields: Fields) -> LayerSplit:
    layer, tiling = _layer(fields), _tiling(fields)
    tiles = layer_tiles(layer, tiling, fields.numbers("alignment", AXES, (1,) * AXES))
    return LayerSplit(fields.values, layer, tiling, tiles)


def _layer(fields: Fields) -> Layer:
    sizes, two = fields.numbers("input", AXES), (1, 1)
    kernel, strides = fields.numbers("kernel", 2), fields.numbers("strides", 2, two)
    dilations, pad = fields.numbers("dilations", 2, two), fields.inner("pad")
    top, bottom, left, right = (pad.number(side, 0) for side in SIDES)
    op = str(fields.values.get("op", _SUMMING[0])).lower()
    groups = fields.number("groups", 1 if op in _SUMMING else sizes[CHANNEL], 1)
    said = fields.numbers("output", AXES) if fields.values.get("output") else None
    channels = said[CHANNEL] if said else fields.number("channels", sizes[CHANNEL], 1)
    if sizes[CHANNEL] % groups or channels % groups:
        raise fields.refusal("groups", f"{sizes[CHANNEL]} and {channels} channels must divide by it")
    rows = SlidingWindow(kernel[0], strides[0], top, bottom, dilations[0])
    columns = SlidingWindow(kernel[1], strides[1], left, right, dilations[1])
    layer = Layer(sizes, channels, rows, columns, groups)
    if said is not None and said != layer.output:
        raise fields.refusal("output", f"window, strides and pads make {list(layer.output)} of the input")
    return layer


def _tiling(fields: Fields) -> tuple[int, ...]:
    """How many tiles along each axis: as said, or as many as there are in a list of tiles that comes along."""
    known = fields.values.get("tiles")
    if fields.values.get("tiling") is not None or not isinstance(known, Sequence):
        return fields.numbers("tiling", AXES)
    offsets = [Fields(tile, f"{fields.where}, a tile").numbers("out_offset", AXES, least=0) for tile in known]
    return tuple(len({offset[axis] for offset in offsets}) for axis in range(AXES))


def _split_chain(fields: Fields) -> ChainSplit:
    chain = fields.values["chain"]
    if not isinstance(chain, Sequence) or isinstance(chain, str):
        raise fields.refusal("chain", "give a list of steps")
    steps: list[ChainStep] = []
    for at, step in enumerate(chain):
        if not isinstance(step, Mapping):
            raise fields.refusal("chain", "give steps as objects")
        steps.append(_step(Fields(step, f"{fields.where}, step {at + 1}"), at, steps))
    size, tiles = fields.number("size", least=1), fields.number("tiling", least=1)
    made = chain_tiles(size, steps, tiles, fields.number("alignment", 1, 1))
    return ChainSplit(fields.values, chain_sizes(size, steps), made)


def _step(fields: Fields, at: int, before: Sequence[ChainStep]) -> ChainStep:
    """A step; it reads what the one before makes, unless it says something else."""
    before_it, behind = fields.numbers("pad", 2, (0, 0), least=0)
    kernel, stride, dilation = (fields.number(key, 1, 1) for key in ("kernel", "stride", "dilation"))
    window = SlidingWindow(kernel, stride, before_it, behind, dilation)
    reads = fields.values.get("reads", [before[-1].name if before else "argument"])
    if not isinstance(reads, Sequence) or isinstance(reads, str):
        raise fields.refusal("reads", "give a list of names")
    return ChainStep(str(fields.values.get("name", f"step{at + 1}")), tuple(map(str, reads)), window)
