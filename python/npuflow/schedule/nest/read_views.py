"""Ops that make a view of a memref: which part of its buffer it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from npuflow.bindings import ir
from npuflow.core.build import mixed, offsets_of, sizes_of
from npuflow.core.passes import fail
from npuflow.ops.contraction import producer
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.indices import Bounds, Extent, ViewStart
from npuflow.schedule.nest.nest import L2
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
    if not source.is_whole or not kind.has_static_shape or source.buffer.space == L2:
        what = f"{op.name} of a part of {source.buffer.name}, or of a buffer in L2, cannot be scheduled"
        raise fail(op, what, "reshape whole buffers in L3 or L1")
    return replace(View.whole(replace(source.buffer, shape=tuple(kind.shape))), buffer=source.buffer)
