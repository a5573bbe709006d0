"""A block's part of a tensor: a slice, with zeros where it reaches over an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import (
    Mixed,
    difference,
    element_type_of,
    extract_slice,
    maximum,
    minimum,
    padded_by,
    shape_of,
    weighted_sum,
    zero,
)
from npuflow.ops.bundle_ops import pads_with_zeros
from npuflow.ops.contraction import producer


@dataclass(frozen=True)
class Region:
    """`extent` indices of a dimension from `start` on; over all blocks that begins between `first` and `last`.

    Two regions with the same `start_key` begin at the same place.
    """

    start: Mixed
    first: int
    last: int
    extent: int
    start_key: tuple[object, ...]


@dataclass(frozen=True)
class Clipped:
    """What of a region exists, and the zeros before and behind it."""

    begin: Mixed
    size: Mixed
    low: Mixed
    high: Mixed


def block_region(value: ir.Value, regions: Sequence[Region]) -> ir.Value:
    """The regions of a tensor, of static shape; a `tensor.pad` that made the tensor becomes part of it."""
    shape = [region.extent for region in regions]
    if shape == shape_of(value) and all(region.start == 0 for region in regions):
        return value
    source, lows = _source(value)
    clipped = [clip(region, low, size) for region, low, size in zip(regions, lows, shape_of(source))]
    has_zeros = any(c.low != 0 or c.high != 0 for c in clipped)
    if not has_zeros and shape == shape_of(source) and all(c.begin == 0 for c in clipped):
        return source
    part = extract_slice(source, [c.begin for c in clipped], [c.size for c in clipped])
    if not has_zeros:
        return part
    return padded_by(part, [c.low for c in clipped], [c.high for c in clipped], zero(element_type_of(value)), shape)


def _source(value: ir.Value) -> tuple[ir.Value, list[int]]:
    """The tensor in front of a padding by zeros, and how far that moved it; the tensor itself where there is none."""
    pad = producer(value, "tensor.pad")
    if pad is None or not pads_with_zeros(pad):
        return value, [0] * len(shape_of(value))
    return pad.operands[0], [int(low) for low in ir.DenseI64ArrayAttr(pad.attributes["static_low"])]


def clip(region: Region, low: int, size: int) -> Clipped:
    """What of a region exists of a tensor's dimension that `low` zeros stand in front of."""
    start = weighted_sum([(1, region.start)], -low)
    first, last = region.first - low, region.last - low
    if first >= 0 and last + region.extent <= size:
        return Clipped(start, region.extent, 0, 0)
    if first >= 0 and last < size:
        exists = minimum(region.extent, difference(size, start))
        return Clipped(start, exists, 0, difference(region.extent, exists))
    begin = maximum(0, start) if first < 0 else start
    behind = weighted_sum([(1, start)], region.extent)
    end = minimum(size, behind) if last + region.extent > size else behind
    if last >= size:
        begin = minimum(size, begin)
    if first + region.extent < 0:
        end = maximum(0, end)
    return Clipped(begin, difference(end, begin), difference(begin, start), difference(behind, end))
