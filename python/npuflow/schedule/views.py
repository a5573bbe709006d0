"""Memrefs as data: which part of a buffer a view is, and how two views of a movement go through their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.schedule.affine import Affine
from npuflow.schedule.indices import Extent
from npuflow.schedule.nest import L3, BufferInfo, Dimension, Factor


@dataclass(frozen=True)
class View:
    """A memref: part of a buffer, with an extent and a stride per dimension.

    `room` is how many indices the whole buffer still has from where a dimension starts.
    """

    buffer: BufferInfo
    offset: Affine
    extents: tuple[Extent, ...]
    strides: tuple[int, ...]
    room: tuple[Affine, ...]


def kept_dims(sizes: Sequence[int | None], result: ir.Value) -> list[int]:
    """Which dimensions a rank-reducing subview keeps: unit dimensions go, from the front, until the rank fits."""
    drop = len(sizes) - ir.MemRefType(result.type).rank
    kept = []
    for d, size in enumerate(sizes):
        if drop and size == 1:
            drop -= 1
            continue
        kept.append(d)
    return kept


def limit_of(view: View, d: int, size: int) -> Affine | None:
    """Where the indices of a dimension end that runs through `size`; None where all of them exist by themselves.

    The end of the L3 buffer is preferred to the view's own, being the same in every step of a loop: a limit that no
    step reaches is dropped later.
    """
    extent = view.extents[d]
    if view.buffer.space != L3:
        return extent.limit
    if extent.limit is not None or extent.full == size or view.room[d] == Affine(extent.full):
        return view.room[d]
    return Affine(extent.full)


def padded_size(size: int, inner: View, d: int) -> int:
    """How far a copy of a partial tile goes in L2: to the end of the buffer, or of a loop's piece of it."""
    stride, whole = inner.strides[d], inner.buffer.shape[d]
    steps = [c // stride for _, c in inner.offset.terms if stride <= c < whole * stride]
    return min([step for step in steps if step >= size], default=whole)


def whole_outer(packed: View, rank: int) -> View:
    """A packed view over its whole buffer: what a partial pack leaves out is padding."""
    shape = packed.buffer.shape
    extents = tuple(Extent(size) for size in shape[:rank]) + packed.extents[rank:]
    return View(packed.buffer, packed.offset, extents, packed.strides, packed.room)


def tiled(d: int, plain: View, packed: View, op: ir.Operation) -> Dimension:
    """Dimension `d` of the plain side of a pack, split into tiles where it is packed."""
    view = op.opview
    positions = [int(p) for p in ir.DenseI64ArrayAttr(view.inner_dims_pos)]
    tiles = [int(t) for t in ir.DenseI64ArrayAttr(view.static_inner_tiles)]
    order = [int(p) for p in ir.DenseI64ArrayAttr(view.outer_dims_perm)] if view.outer_dims_perm else []
    outer = order.index(d) if order else d
    extent = plain.extents[d]
    if d not in positions:
        factor = Factor(extent.full, 1, plain.strides[d], packed.strides[outer])
        return Dimension((factor,), limit_of(plain, d, extent.full))
    inner = positions.index(d)
    tile, inner_stride = tiles[inner], packed.strides[len(plain.extents) + inner]
    count = packed.extents[outer].full
    factors = (
        Factor(count, tile, plain.strides[d] * tile, packed.strides[outer]),
        Factor(tile, 1, plain.strides[d], inner_stride),
    )
    limit = limit_of(plain, d, count * tile)
    if limit is None and extent.full < count * tile:
        limit = Affine(extent.full)
    return Dimension(factors, limit)


def swapped(dimension: Dimension) -> Dimension:
    factors = tuple(Factor(f.size, f.weight, f.target_stride, f.source_stride) for f in dimension.factors)
    return Dimension(factors, dimension.limit)
