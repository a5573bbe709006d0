"""Ops that make a view of a memref: which part of its buffer it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import mixed, offsets_of, reassociation_of, sizes_of
from npuflow.core.passes import fail
from npuflow.ops.contraction import producer
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.indices import Bounds, Extent, ViewStart
from npuflow.schedule.nest.nest import L2, L3
from npuflow.schedule.nest.views import View, kept_dims


def read_subview(op: ir.Operation, source: View, number: Callable[[int | ir.Value], Affine], bounds: Bounds) -> View:
    """memref.subview"""
    view = op.opview
    starts = [number(v) for v in mixed(_static(view.static_offsets), list(view.offsets))]
    sizes = [number(v) for v in mixed(_static(view.static_sizes), list(view.sizes))]
    steps = _static(view.static_strides)
    kept = _kept_whole(op)
    offset, places, extents = source.offset, [], []
    for d, (start, size) in enumerate(zip(starts, sizes)):
        if kept[d]:
            places.append(source.places[d])
            extents.append(source.extents[d])
            continue
        place = _place(op, d, start, bounds)
        offset = offset + place.base * source.strides[d]
        places.append(source.places[d] + place.base * source.steps[d])
        extents.append(_extent(op, d, start, place, size, bounds))
    whole = View(
        source.buffer,
        offset,
        tuple(extents),
        tuple(stride * step for stride, step in zip(source.strides, steps)),
        tuple(places),
        source.wholes,
        tuple(one * step for one, step in zip(source.steps, steps)),
    )
    return whole.permuted(kept_dims(whole.extents, op.results[0]))


def _kept_whole(op: ir.Operation) -> list[bool]:
    """For each dimension, whether a slice of a slice takes it as it is, whatever its size."""
    sizes, offsets = sizes_of(op), offsets_of(op)
    around = producer(op.operands[0], op.name)
    if around is None or len(sizes_of(around)) != ir.MemRefType(op.operands[0].type).rank:
        return [False] * len(sizes)
    steps = _static(op.opview.static_strides)
    taken = zip(offsets, sizes, sizes_of(around), steps)
    return [offset == 0 and size == whole and step == 1 for offset, size, whole, step in taken]


def _static(values: ir.Attribute) -> list[int]:
    return [int(value) for value in ir.DenseI64ArrayAttr(values)]


def _place(op: ir.Operation, d: int, start: Affine, bounds: Bounds) -> ViewStart:
    place = bounds.place(start)
    if place is None:
        what = f"offset {d} of {op.name} is {start}, a maximum or minimum that cannot be scheduled"
        raise fail(op, what, "use affine offsets, or max(0, o) where o is one")
    return place


def _extent(op: ir.Operation, d: int, start: Affine, place: ViewStart, size: Affine, bounds: Bounds) -> Extent:
    extent = bounds.extent(start, place, size)
    if extent is None:
        what = f"size {d} of {op.name}, {size} from {start} on, cannot be scheduled"
        raise fail(op, what, "use a constant, or the minimum of one and an affine sum")
    return extent


def read_reshape(op: ir.Operation, source: View) -> View:
    """memref.collapse_shape, memref.expand_shape: the same elements in the same order."""
    kind = ir.MemRefType(op.results[0].type)
    if source.is_whole and kind.has_static_shape and source.buffer.space != L2:
        return replace(View.whole(replace(source.buffer, shape=tuple(kind.shape))), buffer=source.buffer)
    strides = _strides_in(op, source) if kind.has_static_shape and source.buffer.space == L3 else None
    if strides is None:
        what = f"{op.name} of a part of {source.buffer.name}, or of a buffer in L2, cannot be scheduled"
        raise fail(op, what, "reshape whole buffers in L1, or static parts of those in L3")
    shape, nowhere = tuple(kind.shape), (Affine(),) * kind.rank
    return View(source.buffer, source.offset, tuple(map(Extent, shape)), strides, nowhere, shape, (1,) * kind.rank)


def _strides_in(op: ir.Operation, source: View) -> tuple[int, ...] | None:
    """The strides of a reshaped part of a buffer, which counts as a whole; None where it has none."""
    if any(extent != Extent(extent.full) for extent in source.extents):
        return None
    groups = reassociation_of(op)
    if op.name == "memref.collapse_shape":
        sizes = [extent.full for extent in source.extents]
        kept = [[d for d in group if sizes[d] != 1] or group[-1:] for group in groups]
        pairs = [(a, b) for group in kept for a, b in pairwise(group)]
        is_one = all(source.strides[a] == source.strides[b] * sizes[b] for a, b in pairs)
        return tuple(source.strides[group[-1]] for group in kept) if is_one else None
    shape = ir.MemRefType(op.results[0].type).shape
    return tuple(
        stride * prod(shape[inner] for inner in group[i + 1 :])
        for stride, group in zip(source.strides, groups)
        for i in range(len(group))
    )
