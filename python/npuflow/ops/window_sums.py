"""What each channel of an image has in windows, summed up or the largest of: depthwise convolutions and pools.

No channel meets another, so that matrix instructions have no k. An engine that takes pixels in patches may go through
them all the same. Reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_type_of
from npuflow.ops.factors import EXTENSIONS, factors_of
from npuflow.ops.linear import Linear, input_count, iterators, linear_maps
from npuflow.ops.once import once
from npuflow.ops.patches import Extent

_COMBINING = ("arith.addf", "arith.addi", "arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui")


@dataclass(frozen=True)
class WindowSums:
    """An op's loops by role: `pixels` are rows and columns of its result, `taps` those of windows, `strides` between.

    Where there are columns alone, rows are None. `types` are those of what is read, multiplied by and made.
    """

    types: tuple[str, str, str]
    channels: tuple[int, ...]
    pixels: tuple[int | None, int]
    taps: tuple[int | None, int]
    strides: Extent

    def image(self, tiles: Sequence[int]) -> Extent:
        """Rows and columns of a tile's pixels."""
        return _extent(self.pixels, tiles)

    def window(self, tiles: Sequence[int]) -> Extent:
        """Rows and columns of a window, as far as a tile has them."""
        return _extent(self.taps, tiles)

    def channel_count(self, tiles: Sequence[int]) -> int:
        """The channels of a tile; images of a batch are more of them."""
        return prod(tiles[loop] for loop in self.channels)


def _extent(loops: tuple[int | None, int], tiles: Sequence[int]) -> Extent:
    rows, columns = loops
    return 1 if rows is None else tiles[rows], tiles[columns]


@once
def match_window_sums(op: ir.Operation) -> WindowSums | None:
    """The roles of an op's loops, if it goes through windows of each channel alone."""
    maps = linear_maps(op) if op.name == "linalg.generic" else None
    if maps is None or len(maps) != input_count(op) + 1:
        return None
    windowed = [i for i in range(input_count(op)) if any(len(dim.terms) > 1 for dim in maps[i])]
    if not windowed:
        return None
    image = max(windowed, key=lambda number: len(maps[number]))
    kinds = iterators(op)
    axes = [_axis(dim, kinds) for dim in maps[image] if len(dim.terms) > 1]
    if len(axes) > 2 or any(axis is None for axis in axes):
        return None
    known = [axis for axis in axes if axis is not None]
    channels = tuple(dim.loop for dim in maps[image] if len(dim.terms) == 1 and dim.loop is not None)
    reduced = {loop for loop, kind in enumerate(kinds) if kind == "reduction"}
    own = {*channels, *(axis.pixel for axis in known)}
    if reduced != {axis.tap for axis in known} or own | reduced != set(range(len(kinds))):
        return None
    types = _types(op, image, {*channels, *reduced}, maps)
    if types is None:
        return None
    pixels, taps = (_last_two([getattr(axis, name) for axis in known]) for name in ("pixel", "tap"))
    strides = [axis.stride for axis in known]
    return WindowSums(types, channels, pixels, taps, (strides[0] if len(strides) > 1 else 1, strides[-1]))


@dataclass(frozen=True)
class _Axis:
    pixel: int
    tap: int
    stride: int


def _axis(dim: Linear, kinds: Sequence[str]) -> _Axis | None:
    """A dimension as pixels and a window's positions, if it is these."""
    pixels, taps = ([term for term in dim.terms if kinds[term[0]] == kind] for kind in ("parallel", "reduction"))
    return _Axis(pixels[0][0], taps[0][0], pixels[0][1]) if len(pixels) == len(taps) == 1 else None


def _last_two(loops: Sequence[int]) -> tuple[int | None, int]:
    return (loops[0] if len(loops) > 1 else None), loops[-1]


def _types(
    op: ir.Operation, image: int, follows: set[int], maps: Sequence[tuple[Linear, ...]]
) -> tuple[str, str, str] | None:
    """What is read, multiplied by and made: each element times a weight of its channel, or each as it is."""
    made = str(element_type_of(op.results[0] if op.results else op.operands[input_count(op)]))
    factors = factors_of(op)
    if factors is None:
        read = str(element_type_of(op.operands[image]))
        return (read, read, made) if _combines(op, image) else None
    own = {factor.inputs[0]: factor.element_type for factor in factors if factor.is_bare}
    if len(own) < 2 or image not in own:
        return None
    (weights,) = set(own) - {image}
    loops = {loop for dim in maps[weights] for loop, _ in dim.terms}
    return (own[image], own[weights], made) if loops <= follows else None


def _combines(op: ir.Operation, image: int) -> bool:
    """Whether a body adds an element to what it has, or keeps the larger of both; padding may be a constant."""
    block = op.regions[0].blocks[0]
    (yielded,) = block.operations[len(block.operations) - 1].operands
    if isinstance(yielded.owner, ir.Block) or yielded.owner.operation.name not in _COMBINING:
        return False
    total = block.arguments[input_count(op)]
    others = [value for value in yielded.owner.operation.operands if value != total]
    return len(others) == 1 and _read(others[0]) == block.arguments[image]


def _read(value: ir.Value) -> ir.Value:
    """The element that a value is, made wider, and what it is taken from if it isn't padding."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value
    if owner.operation.name in EXTENSIONS:
        return _read(owner.operation.operands[0])
    if owner.operation.name == "arith.select" and (found := _unpadded(owner.operation)) is not None:
        return _read(found)
    return value


def _unpadded(select: ir.Operation) -> ir.Value | None:
    """What is selected where a mask doesn't say a constant: the mask is of inputs alone that are read for it."""
    condition, *ways = select.operands
    constant = [not isinstance(way.owner, ir.Block) and way.owner.operation.name == "arith.constant" for way in ways]
    if constant.count(True) != 1:
        return None
    other = ways[constant.index(False)]
    masks, todo = set[ir.Value](), [condition]
    while todo:
        one = todo.pop()
        if isinstance(one.owner, ir.Block):
            masks.add(one)
        else:
            todo += one.owner.operation.operands
    return None if _read(other) in masks else other
