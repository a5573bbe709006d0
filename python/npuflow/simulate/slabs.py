"""Accesses that several memories share: a tensor in slabs of equal size, each part of a transfer within one. Pure.

A tensor of 4x6 elements in two slabs of 12: what goes through its columns, two at a time, has two parts each,

    sizes 4x2, strides 6x1, offset 2        sizes 2x2, offset 2 of slab 0; sizes 2x2, offset 14 of slab 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from npuflow.schedule.data.patterns import merged
from npuflow.simulate.program import FlatAccess, FlatAffine, FlatLimit

# The first and the last index of a dimension that there is anything at.
_Bounds = tuple[int, int]


@dataclass(frozen=True)
class SlabPart:
    """What of an access is in a slab, by its number, in the order in which it travels."""

    slab: int
    access: FlatAccess


def slab_parts(access: FlatAccess, slab_elements: int) -> list[SlabPart]:
    """An access, whose offset is a constant, in parts that are in one slab each, in its own order."""
    bounds = [_bounds(access, dimension) for dimension in range(len(access.sizes))]
    found = _pieces(_DividedAccess(slab_elements, access.sizes, access.strides, bounds), access.offset.constant, 0)
    if len(found) == 1:
        return [SlabPart(found[0].slab or 0, access)]
    return [SlabPart(one.slab or 0, one.of(access)) for one in found]


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
        limits = tuple(_moved(limit, self.first) for limit in access.limits)
        return replace(access, offset=FlatAffine(self.offset), sizes=self.sizes, limits=limits)


def _moved(limit: FlatLimit, first: Sequence[int]) -> FlatLimit:
    """A limit of indices that are counted from others on."""
    before = sum(coefficient * index for coefficient, index in zip(limit.coefficients, first))
    return replace(limit, bound=FlatAffine(limit.bound.constant - before))


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


def cut_access(access: FlatAccess, counts: Sequence[int]) -> list[FlatAccess] | None:
    """An access as several of so many indices each, in its order; None where one would begin within a row."""
    whole = access if access.limits else _joined(access)
    found, begin = [], 0
    for count in counts:
        part = _range(whole, begin, begin + count)
        if part is None:
            return None
        found.append(part)
        begin += count
    return found if begin == prod(access.sizes) else None


def _joined(access: FlatAccess) -> FlatAccess:
    """The same with dimensions that follow on each other as one."""
    dims = merged(zip(access.sizes, access.strides)) or [(1, 1)]
    return replace(access, sizes=tuple(size for size, _ in dims), strides=tuple(stride for _, stride in dims))


def _range(access: FlatAccess, begin: int, end: int, dimension: int = 0) -> FlatAccess | None:
    """The indices from one to another of those that travel, where they are whole ones of a dimension."""
    inner = prod(access.sizes[dimension + 1 :])
    index = begin // inner
    is_whole = begin % inner == 0 and end % inner == 0
    if not is_whole and index != (end - 1) // inner:
        return None
    count = (end - begin) // inner if is_whole else 1
    part = replace(
        access,
        offset=replace(access.offset, constant=access.offset.constant + index * access.strides[dimension]),
        sizes=(*access.sizes[:dimension], count, *access.sizes[dimension + 1 :]),
        limits=tuple(_moved(limit, (*(0,) * dimension, index)) for limit in access.limits),
    )
    return part if is_whole else _range(part, begin - index * inner, end - index * inner, dimension + 1)
