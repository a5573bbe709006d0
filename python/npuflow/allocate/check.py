"""Whether a packing is one: a sweep through time that knows nothing of how it was found. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from npuflow.allocate.problem import LiveBuffer


def packing_problems(buffers: Sequence[LiveBuffer], offsets: Sequence[int], capacity: int | None) -> list[str]:
    """What is wrong with addresses, in words; at most one overlap for each buffer that begins to live."""
    if len(buffers) != len(offsets):
        return [f"{len(buffers)} buffers have {len(offsets)} addresses"]
    found = [problem for pair in zip(buffers, offsets) for problem in _misplaced(*pair, capacity)]
    return found + list(_overlaps(buffers, offsets))


def _misplaced(buffer: LiveBuffer, offset: int, capacity: int | None) -> Iterator[str]:
    if offset < 0:
        yield f"buffer {buffer.name} begins at {offset}, below 0"
    if offset % buffer.alignment:
        yield f"buffer {buffer.name} begins at {offset}, which is no multiple of {buffer.alignment}"
    if capacity is not None and offset + buffer.size > capacity:
        yield f"buffer {buffer.name} ends at {offset + buffer.size}, above the capacity of {capacity}"


def _overlaps(buffers: Sequence[LiveBuffer], offsets: Sequence[int]) -> Iterator[str]:
    """What lives is kept in the order of addresses, where only neighbours can overlap first."""
    sized = [index for index, buffer in enumerate(buffers) if buffer.size]
    changes = [(buffers[i].upper, 0, i) for i in sized] + [(buffers[i].lower, 1, i) for i in sized]
    living: list[tuple[int, int]] = []  # offset, index
    for now, begins, index in sorted(changes):
        entry = (offsets[index], index)
        place = bisect_left(living, entry)
        if not begins:
            del living[place]
            continue
        for neighbour in living[max(0, place - 1) : place + 1]:
            below, above = sorted((neighbour, entry))
            if below[0] + buffers[below[1]].size > above[0]:
                names = f"{buffers[below[1]].name} and {buffers[above[1]].name}"
                yield f"buffers {names} overlap at address {above[0]} from time {now} on"
                break
        insort(living, entry)
