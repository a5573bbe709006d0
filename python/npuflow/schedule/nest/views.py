"""Memrefs as data: which part of a buffer a view is, and how two views of a movement go through their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.indices import Extent
from npuflow.schedule.nest.nest import L3, BufferInfo, Dimension, Factor, row_major


@dataclass(frozen=True)
class View:
    """A memref: part of a buffer, with an extent and a stride per dimension.

    A dimension begins at index `places[d]` of the buffer's own, which has `wholes[d]`, and goes on in steps of
    `steps[d]` of them.
    """

    buffer: BufferInfo
    offset: Affine
    extents: tuple[Extent, ...]
    strides: tuple[int, ...]
    places: tuple[Affine, ...]
    wholes: tuple[int, ...]
    steps: tuple[int, ...]

    @staticmethod
    def whole(buffer: BufferInfo) -> View:
        shape = buffer.shape
        extents = tuple(Extent(size) for size in shape)
        nowhere = tuple(Affine() for _ in shape)
        return View(buffer, Affine(), extents, row_major(shape), nowhere, shape, (1,) * len(shape))

    @property
    def is_whole(self) -> bool:
        """Whether it goes through a buffer's elements from the first one on, one after the other."""
        in_order = self.strides == row_major(self.wholes) and set(self.steps) <= {1}
        return in_order and self.offset == Affine() and self.extents == tuple(map(Extent, self.wholes))

    def room(self, d: int) -> Affine | None:
        """How many indices the buffer has from where a dimension starts; None where that isn't affine."""
        left, step = Affine(self.wholes[d]) - self.places[d], self.steps[d]
        return (left + (step - 1 - (left.constant + step - 1) % step)).exact_quotient(step)

    def permuted(self, order: Sequence[int]) -> View:
        """The view with its dimensions in another order; those of size 1 may be left out."""
        return replace(
            self,
            extents=tuple(self.extents[d] for d in order),
            strides=tuple(self.strides[d] for d in order),
            places=tuple(self.places[d] for d in order),
            wholes=tuple(self.wholes[d] for d in order),
            steps=tuple(self.steps[d] for d in order),
        )

    def back(self, d: int, indices: int) -> View:
        """The view with a dimension that begins so many indices earlier."""
        offset = self.offset - indices * self.strides[d]
        moved = self.places[d] - indices * self.steps[d]
        return replace(self, offset=offset, places=(*self.places[:d], moved, *self.places[d + 1 :]))


def kept_dims(extents: Sequence[Extent], result: ir.Value) -> list[int]:
    """Which dimensions a rank-reducing subview keeps: unit dimensions go, from the front, until the rank fits."""
    drop = len(extents) - ir.MemRefType(result.type).rank
    dropped = [d for d, extent in enumerate(extents) if extent == Extent(1)][:drop]
    return [d for d in range(len(extents)) if d not in dropped]


def limit_of(view: View, d: int, size: int) -> Affine | None:
    """Where the indices of a dimension end that runs through `size`; None where all of them exist by themselves.

    In L3 an end of the buffer is said in every step of a loop, also where none is reached: a limit that no step
    reaches is dropped later.
    """
    extent = view.extents[d]
    if extent.limit is not None:
        return extent.limit
    room = view.room(d) if view.buffer.space == L3 else None
    if extent.full == size or room == Affine(extent.full):
        return room
    return Affine(extent.full)


def padded_size(size: int, inner: View, d: int) -> int:
    """How far a copy of a partial tile goes in L2: to the end of the buffer, or of a loop's piece of it."""
    whole = inner.wholes[d]
    pieces = [c for _, c in inner.places[d].terms if 1 <= c < whole]
    return min([piece for piece in pieces if piece >= size], default=whole)


def whole_outer(packed: View, rank: int) -> View:
    """A packed view over its whole buffer: what a partial pack leaves out is padding."""
    extents = tuple(Extent(size) for size in packed.wholes[:rank]) + packed.extents[rank:]
    return replace(packed, extents=extents)


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
    return replace(dimension, factors=factors)
