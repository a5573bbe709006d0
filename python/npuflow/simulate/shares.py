"""Which of what travels in a transfer is meant, and the part of an access that has it. Pure.

Both ends of a transfer have the same indices in the same order, in patterns of their own: what is in one memory at one
end is a share of them, in a row or dealt out, and so is what the other end has to do with that memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from npuflow.simulate.program import FlatAccess, FlatAffine, FlatLimit
from npuflow.target.patterns import merged


@dataclass(frozen=True)
class Share:
    """Of rows of so many indices, in the order in which these travel, each `step`th from `first` on, `count` in all.

    With a `period` it is that of every so many indices.
    """

    row: int
    first: int
    step: int
    count: int
    period: int = 0


def part_of(access: FlatAccess, share: Share) -> FlatAccess | None:
    """A share of an access as one; None where that is none."""
    found = _pattern_of(access.sizes, access.strides, access.limits, share)
    if found is None:
        return None
    offset = FlatAffine(access.offset.constant + found.offset.constant, access.offset.coefficients)
    return access.going(found.sizes, found.strides, offset, found.limits)


# Wherever it begins: a tensor's transfers are asked about in one program after the other, and most are alike.
@lru_cache(maxsize=8192)
def _pattern_of(
    sizes: tuple[int, ...], strides: tuple[int, ...], limits: tuple[FlatLimit, ...], share: Share
) -> FlatAccess | None:
    """The same of an access of this pattern that begins at 0."""
    access = FlatAccess("", sizes, strides, 1, limits=limits)
    whole = access if limits else _joined(access)
    begin, end = share.row * share.first, share.row * (share.first + share.count)
    if share.period:
        periods = _with_rows(whole, share.period)
        return None if periods is None or share.step != 1 else _range(periods[0], begin, end, periods[1])
    if share.step == 1:
        return _range(whole, begin, end)
    apart = _with_rows(whole, share.row)
    return None if apart is None else _dealt(*apart, share)


def every(access: FlatAccess, dimension: int, first: int, step: int) -> FlatAccess:
    """Every `step`th index of a dimension from `first` on."""
    size, stride = access.sizes[dimension], access.strides[dimension]
    begin = (*(0,) * dimension, first)
    limits = (
        replace(moved, coefficients=_with(moved.coefficients, dimension, moved.coefficients[dimension] * step))
        for moved in (moved_limit(limit, begin) for limit in access.limits)
    )
    return access.going(
        _with(access.sizes, dimension, -(-(size - first) // step)),
        _with(access.strides, dimension, stride * step),
        FlatAffine(access.offset.constant + first * stride, access.offset.coefficients),
        tuple(limits),
    )


def split(access: FlatAccess, dimension: int, length: int) -> FlatAccess | None:
    """A dimension as two, the inner one of so many indices; None where a limit would be about both."""
    if any(limit.coefficients[dimension] for limit in access.limits):
        return None
    size, stride = access.sizes[dimension], access.strides[dimension]
    limits = (replace(limit, coefficients=_with(limit.coefficients, dimension, 0, 0)) for limit in access.limits)
    return access.going(
        _with(access.sizes, dimension, size // length, length),
        _with(access.strides, dimension, stride * length, stride),
        access.offset,
        tuple(limits),
    )


def moved_limit(limit: FlatLimit, first: Sequence[int]) -> FlatLimit:
    """A limit of indices that are counted from others on."""
    before = sum(coefficient * index for coefficient, index in zip(limit.coefficients, first))
    return replace(limit, bound=FlatAffine(limit.bound.constant - before))


def _with(numbers: Sequence[int], place: int, *those: int) -> tuple[int, ...]:
    """The numbers with others in one's place."""
    return (*numbers[:place], *those, *numbers[place + 1 :])


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
        sizes=_with(access.sizes, dimension, count),
        limits=tuple(moved_limit(limit, (*(0,) * dimension, index)) for limit in access.limits),
    )
    return part if is_whole else _range(part, begin - index * inner, end - index * inner, dimension + 1)


def _with_rows(access: FlatAccess, row: int) -> tuple[FlatAccess, int] | None:
    """The access with rows of so many indices, and how many of its dimensions go from row to row."""
    inner, dimension = 1, len(access.sizes)
    while dimension and inner < row:
        dimension -= 1
        size = access.sizes[dimension]
        if inner * size > row:
            length, rest = divmod(row, inner)
            apart = None if rest or size % length else split(access, dimension, length)
            return None if apart is None else (apart, dimension + 1)
        inner *= size
    return (access, dimension) if inner == row else None


def _dealt(access: FlatAccess, outer: int, share: Share) -> FlatAccess | None:
    """Of the rows that the first `outer` dimensions go through, those of a share."""
    first, step = share.first, share.step
    for dimension in reversed(range(outer)):
        size = access.sizes[dimension]
        if size % step == 0 or prod(access.sizes[:dimension]) == 1:
            part = every(access, dimension, first, step)
            return part if prod(part.sizes) == share.row * share.count else None
        if step % size:
            return None
        access = every(access, dimension, first % size, size)
        first, step = first // size, step // size
    return None
