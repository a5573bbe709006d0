"""Accesses that several memories share: a tensor in slabs, each part of a transfer within one. Pure.

A tensor of 4x6 elements in two slabs of 12: what goes through its columns, two at a time, has two parts each,

    sizes 4x2, strides 6x1, offset 2        sizes 2x2, offset 2 of slab 0; sizes 2x2, offset 14 of slab 1

and with rows dealt out in turn, pieces of 6,

    sizes 4x2, strides 6x1, offset 2        sizes 2x2, strides 12x1, offset 2 of slab 0 and offset 8 of slab 1

Of channels of 24, the rows 1 and 2 of each are in a slab each as well:

    sizes 3x2x6, strides 24x6x1, offset 6   sizes 3x1x6, strides 24x6x1, offset 6 of slab 1 and offset 12 of slab 0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from npuflow.simulate.program import FlatAccess, FlatAffine
from npuflow.simulate.shares import Share, every, moved_limit, split

# The first and the last index of a dimension that there is anything at.
_Bounds = tuple[int, int]
# Of parts that follow on each other in several pieces: each takes descriptors at both ends.
_MOST_RANGES = 4


@dataclass(frozen=True)
class SlabPart:
    """What of an access is in a slab, by its number, and which share of what travels that is."""

    slab: int
    access: FlatAccess
    share: Share


def slab_parts(access: FlatAccess, slab_elements: int) -> list[SlabPart]:
    """An access, whose offset is a constant, in parts that are in one slab each, in its own order."""
    bounds = [_bounds(access, dimension) for dimension in range(len(access.sizes))]
    pieces = _pieces(_DividedAccess(slab_elements, access.sizes, access.strides, bounds), access.offset.constant, 0)
    found, begin = list[SlabPart](), 0
    for piece in pieces:
        part = access if len(pieces) == 1 else piece.of(access)
        slab = 0 if piece.slab is None or _is_outside(part) else piece.slab
        found.append(SlabPart(slab, part, Share(1, begin, 1, prod(piece.sizes))))
        begin += prod(piece.sizes)
    return found


def dealt_parts(access: FlatAccess, piece: int, slabs: int) -> list[SlabPart] | None:
    """An access in parts of one slab each, where pieces of so many elements are dealt out to the slabs in turn.

    None where it isn't in whole pieces, or goes from slab to slab along several dimensions, and is in more than a few
    ranges of one piece each.
    """
    return _turned_parts(access, piece, slabs) or _ranges(access, piece, slabs)


def _turned_parts(access: FlatAccess, piece: int, slabs: int) -> list[SlabPart] | None:
    access = _in_pieces(access, piece)
    dims = list(enumerate(zip(access.sizes, access.strides)))
    inside = [(d, stride) for d, (_, stride) in dims if stride % piece]
    turning = [d for d, (size, stride) in dims if size > 1 and stride % piece == 0 and stride // piece % slabs]
    ends = [sorted(index * stride for index in _bounds(access, d)) for d, stride in inside]
    number, place = divmod(access.offset.constant, piece)
    if len(turning) > 1 or place + sum(end[0] for end in ends) < 0 or place + sum(end[1] for end in ends) >= piece:
        return None
    if not turning:
        return [SlabPart(number % slabs, access, Share(1, 0, 1, prod(access.sizes)))]
    (dimension,) = turning
    size, steps = access.sizes[dimension], access.strides[dimension] // piece
    turn, row = slabs // gcd(steps, slabs), prod(access.sizes[dimension + 1 :])
    if size % turn and prod(access.sizes[:dimension]) > 1:
        return None
    found = []
    for first in range(min(turn, size)):
        part = every(access, dimension, first, turn)
        share = Share(row, first, turn, prod(part.sizes) // row)
        found.append(SlabPart((number + steps * first) % slabs, part, share))
    return found


def _ranges(access: FlatAccess, piece: int, slabs: int) -> list[SlabPart] | None:
    """The parts of an access whose outer dimensions stay in a slab and whose inner ones go on to a few others."""
    steps = [size > 1 and stride % (piece * slabs) != 0 for size, stride in zip(access.sizes, access.strides)]
    outer = steps.index(True) if True in steps else 0
    apart = [any(limit.coefficients[:outer]) for limit in access.limits]
    if any(far and any(limit.coefficients[outer:]) for far, limit in zip(apart, access.limits)):
        return None
    near = (limit for far, limit in zip(apart, access.limits) if not far)
    limits = tuple(replace(limit, coefficients=limit.coefficients[outer:]) for limit in near)
    inner = replace(access, sizes=access.sizes[outer:], strides=access.strides[outer:], limits=limits)
    parts = slab_parts(inner, piece)
    if len(parts) > _MOST_RANGES:
        return None
    far_limits = tuple(limit for far, limit in zip(apart, access.limits) if far)
    found = []
    for part in parts:
        own = (replace(limit, coefficients=(0,) * outer + limit.coefficients) for limit in part.access.limits)
        whole = replace(
            part.access,
            sizes=access.sizes[:outer] + part.access.sizes,
            strides=access.strides[:outer] + part.access.strides,
            limits=(*far_limits, *own),
        )
        period = prod(inner.sizes) if outer else 0
        found.append(SlabPart(part.slab % slabs, whole, replace(part.share, period=period)))
    return found


def _in_pieces(access: FlatAccess, piece: int) -> FlatAccess:
    """The access with a dimension that goes through several whole pieces as two, from piece to piece and within."""
    for dimension in reversed(range(len(access.sizes))):
        size, stride = access.sizes[dimension], access.strides[dimension]
        if 0 < stride < piece < size * stride and piece % stride == 0 and size % (piece // stride) == 0:
            access = split(access, dimension, piece // stride) or access
    return access


def _bounds(access: FlatAccess, dimension: int) -> _Bounds:
    """What limits leave of a dimension, as far as they are about it alone."""
    first, last = 0, access.sizes[dimension] - 1
    for limit in access.limits:
        own, bound = limit.coefficients[dimension], limit.bound.constant
        if own == 0 or any(c for d, c in enumerate(limit.coefficients) if d != dimension):
            continue
        if own > 0:
            last = min(last, (bound - 1) // own)
        else:
            first = max(first, bound // own + 1)
    return first, last


def _is_outside(access: FlatAccess) -> bool:
    """Whether a limit, of several dimensions together, leaves nothing."""
    least = [sum(min(0, c * (n - 1)) for c, n in zip(limit.coefficients, access.sizes)) for limit in access.limits]
    return any(start >= limit.bound.constant for start, limit in zip(least, access.limits))


@dataclass(frozen=True)
class _DividedAccess:
    slab: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    bounds: Sequence[_Bounds]

    def ends(self, offset: int, dimension: int) -> tuple[int, int]:
        """The first and the last place of the dimensions from one on, at an offset."""
        dims = zip(self.bounds[dimension:], self.strides[dimension:])
        ways = [sorted((first * stride, last * stride)) for (first, last), stride in dims]
        return offset + sum(way[0] for way in ways), offset + sum(way[1] for way in ways)

    def together(self, offset: int, dimension: int, most: int) -> tuple[int | None, int]:
        """The slab of what one index of a dimension has, if that is in one, and for how many on that is the same."""
        least, last = self.ends(offset, dimension + 1)
        slab, stride = least // self.slab, self.strides[dimension]
        if last // self.slab != slab:
            return None, 0
        left = self.slab * (slab + 1) - 1 - last if stride > 0 else least - self.slab * slab
        return slab, min(most, left // abs(stride) + 1) if stride else most


@dataclass(frozen=True)
class _SlabPiece:
    """So many indices of each dimension, from the first ones on; what there is nothing at is in no slab."""

    slab: int | None
    offset: int
    first: tuple[int, ...]
    sizes: tuple[int, ...]

    def of(self, access: FlatAccess) -> FlatAccess:
        limits = tuple(moved_limit(limit, self.first) for limit in access.limits)
        return access.going(self.sizes, access.strides, FlatAffine(self.offset), limits)


def _pieces(layout: _DividedAccess, offset: int, dimension: int) -> list[_SlabPiece]:
    """The pieces of the dimensions from one on, at an offset."""
    sizes = layout.sizes[dimension:]
    if any(first > last for first, last in layout.bounds[dimension:]):
        return [_SlabPiece(None, offset, (0,) * len(sizes), sizes)]
    least, most = (end // layout.slab for end in layout.ends(offset, dimension))
    if least == most:
        return [_SlabPiece(least, offset, (0,) * len(sizes), sizes)]
    found = []
    index, (first, last) = 0, layout.bounds[dimension]
    while index < sizes[0]:
        at = offset + index * layout.strides[dimension]
        if first <= index <= last:
            slab, count = layout.together(at, dimension, last + 1 - index)
        else:
            slab, count = None, (first if index < first else sizes[0]) - index
        if count:
            found.append(_SlabPiece(slab, at, (index, *(0,) * (len(sizes) - 1)), (count, *sizes[1:])))
        else:
            inner = _pieces(layout, at, dimension + 1)
            found += [replace(one, first=(index, *one.first), sizes=(1, *one.sizes)) for one in inner]
        index += max(1, count)
    return _merged(found)


def _merged(pieces: Iterable[_SlabPiece]) -> list[_SlabPiece]:
    """Neighbours in one slab that are alike, as one: the next indices of the outermost dimension."""
    found: list[_SlabPiece] = []
    for piece in pieces:
        last = found[-1] if found else piece
        follows = piece.first == (last.first[0] + last.sizes[0], *last.first[1:]) and piece.sizes[1:] == last.sizes[1:]
        if found and follows and (piece.slab == last.slab or None in (piece.slab, last.slab)):
            slab = last.slab if piece.slab is None else piece.slab
            found[-1] = replace(last, slab=slab, sizes=(last.sizes[0] + piece.sizes[0], *last.sizes[1:]))
        else:
            found.append(piece)
    return found
