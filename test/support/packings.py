"""Buffers to pack: drawn ones, those that a rectangle was cut into, and what is best for a few."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations

from hypothesis import strategies as st

from npuflow.allocate.problem import LiveBuffer, aligned


def drawn_buffers(most: int, alignments: Sequence[int] = (1,)) -> st.SearchStrategy[list[LiveBuffer]]:
    one = st.tuples(st.integers(-3, 8), st.integers(1, 6), st.integers(0, 12), st.sampled_from(alignments))
    return st.lists(one, min_size=1, max_size=most).map(
        lambda drawn: [LiveBuffer(f"b{i}", lower, lower + n, size, a) for i, (lower, n, size, a) in enumerate(drawn)]
    )


def cut_rectangle(seed: int, count: int, time: int, capacity: int, step: int) -> list[LiveBuffer]:
    """`count` pieces of a rectangle of time and bytes: they fill the capacity without a gap."""
    rng = random.Random(seed)
    pieces = [(0, time, 0, capacity)]
    while len(pieces) < count:
        index = max(rng.sample(range(len(pieces)), min(len(pieces), 3)), key=lambda i: _area(pieces[i]))
        begin, end, low, high = pieces[index]
        if rng.random() < 0.5 and end - begin > 1:
            middle = rng.randrange(begin + 1, end)
            pieces[index : index + 1] = [(begin, middle, low, high), (middle, end, low, high)]
        elif high - low >= 2 * step:
            middle = low + step * rng.randrange(1, (high - low) // step)
            pieces[index : index + 1] = [(begin, end, low, middle), (begin, end, middle, high)]
    rng.shuffle(pieces)
    return [LiveBuffer(f"p{i}", begin, end, high - low) for i, (begin, end, low, high) in enumerate(pieces)]


def _area(piece: tuple[int, int, int, int]) -> int:
    begin, end, low, high = piece
    return (end - begin) * (high - low)


def least_bytes(buffers: Sequence[LiveBuffer]) -> int:
    """What the best packing needs: in some order, each buffer as low as the ones before it leave room below nothing."""
    sized = [buffer for buffer in buffers if buffer.size]
    return min(_stacked(order) for order in permutations(sized))


def _stacked(order: Sequence[LiveBuffer]) -> int:
    """Each buffer on top of those before it that it meets."""
    tops: list[tuple[LiveBuffer, int]] = []
    for buffer in order:
        below = (top for other, top in tops if other.lower < buffer.upper and buffer.lower < other.upper)
        tops.append((buffer, aligned(max(below, default=0), buffer.alignment) + buffer.size))
    return max((top for _, top in tops), default=0)
