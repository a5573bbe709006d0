"""The validator sees what is wrong, whoever made it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packings import drawn_buffers

from npuflow.allocate.check import packing_problems
from npuflow.allocate.problem import LiveBuffer


def overlap_in_pairs(buffers: list[LiveBuffer], offsets: list[int]) -> bool:
    """By comparing every two."""
    boxes = [(b, o) for b, o in zip(buffers, offsets) if b.size]
    return any(
        a.lower < b.upper and b.lower < a.upper and x < y + b.size and y < x + a.size
        for i, (a, x) in enumerate(boxes)
        for b, y in boxes[:i]
    )


@given(drawn_buffers(most=8).flatmap(lambda b: st.tuples(st.just(b), st.lists(st.integers(0, 30), min_size=8))))
def test_it_agrees_with_every_pair(drawn: tuple[list[LiveBuffer], list[int]]) -> None:
    buffers, offsets = drawn[0], drawn[1][: len(drawn[0])]
    assert bool(packing_problems(buffers, offsets, None)) == overlap_in_pairs(buffers, offsets)


ONE = LiveBuffer("one", 0, 4, 8, 4)
TWO = LiveBuffer("two", 2, 6, 8)


@pytest.mark.parametrize(
    ("buffers", "offsets", "said"),
    [
        ([ONE, TWO], [0, 7], "buffers one and two overlap at address 7 from time 2 on"),
        ([ONE, TWO], [4, 0], "buffers two and one overlap at address 4 from time 2 on"),
        ([ONE], [-4], "buffer one begins at -4, below 0"),
        ([ONE], [2], "buffer one begins at 2, which is no multiple of 4"),
        ([ONE], [12], "buffer one ends at 20, above the capacity of 19"),
        ([ONE], [], "1 buffers have 0 addresses"),
    ],
)
def test_what_is_wrong_is_said(buffers: list[LiveBuffer], offsets: list[int], said: str) -> None:
    assert packing_problems(buffers, offsets, 19) == [said]


def test_buffers_may_touch() -> None:
    after = LiveBuffer("after", 4, 5, 19)
    assert packing_problems([ONE, TWO, LiveBuffer("none", 0, 9, 0)], [0, 8, 3], 19) == []
    assert packing_problems([ONE, after], [0, 0], 19) == []
