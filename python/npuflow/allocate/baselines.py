"""The two usual ways, to compare with: greedy by size, and colouring. Both are quick and neither is exact. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from npuflow import _native
from npuflow.allocate.problem import LiveBuffer, aligned


def greedy_offsets(buffers: Sequence[LiveBuffer]) -> list[int]:
    """The largest first, each at the lowest address that is free for all of its lifetime."""
    held = [(b.lower, b.upper, b.size, b.alignment) for b in buffers if b.size]
    order = _largest_first([b for b in buffers if b.size])
    found = iter(_native.first_fit(held, order))
    return [next(found) if b.size else 0 for b in buffers]


def coloured_offsets(buffers: Sequence[LiveBuffer]) -> list[int]:
    """Buffers that don't live at the same time share a place; places lie one after the other.

    This is colouring of the graph of buffers that do live at the same time: the largest first, each in the first place
    that has nothing else then.
    """
    places: list[_SharedPlace] = []
    for index in _largest_first(buffers):
        buffer = buffers[index]
        place = next((place for place in places if place.is_free(buffer)), None)
        if place is None:
            place = _SharedPlace()
            places.append(place)
        place.take(index, buffer)
    offsets = [0] * len(buffers)
    end = 0
    for place in places:
        start = end
        for index in place.held:
            offsets[index] = aligned(start, buffers[index].alignment)
            end = max(end, offsets[index] + buffers[index].size)
    return offsets


@dataclass
class _SharedPlace:
    """Buffers that live one after the other."""

    held: list[int] = field(default_factory=list)
    lifetimes: list[tuple[int, int]] = field(default_factory=list)

    def is_free(self, buffer: LiveBuffer) -> bool:
        after = bisect_left(self.lifetimes, (buffer.lower, buffer.upper))
        ends_before = after == 0 or self.lifetimes[after - 1][1] <= buffer.lower
        return ends_before and (after == len(self.lifetimes) or buffer.upper <= self.lifetimes[after][0])

    def take(self, index: int, buffer: LiveBuffer) -> None:
        self.held.append(index)
        insort(self.lifetimes, (buffer.lower, buffer.upper))


def _largest_first(buffers: Sequence[LiveBuffer]) -> list[int]:
    """Of equal sizes those that live longer come first."""
    return sorted(range(len(buffers)), key=lambda i: (-buffers[i].size, buffers[i].lower - buffers[i].upper))
