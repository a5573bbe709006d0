"""Loops that can be one: whatever was split is found again, and nothing that isn't side by side is joined."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npuflow.frontend.loop_groups import collapsed_dims, loop_groups


@st.composite
def split_operands(draw: st.DrawFn) -> tuple[list[list[int | None]], list[tuple[int, ...]], frozenset[int]]:
    """A matmul whose m, n and k are split into some loops each, with dimensions of one element anywhere."""
    sizes = [draw(st.integers(1, 3)) for _ in range(3)]
    starts = [0, sizes[0], sizes[0] + sizes[1]]
    m, n, k = (tuple(range(start, start + size)) for start, size in zip(starts, sizes))
    operands: list[list[int | None]] = []
    for pair in ((m, k), (k, n), (m, n)):
        dims: list[int | None] = [loop for part in draw(st.permutations(pair)) for loop in part]
        for place in draw(st.lists(st.integers(0, len(dims)), max_size=2)):
            dims.insert(place, None)
        operands.append(dims)
    return operands, [m, n, k], frozenset(k)


@given(split_operands())
def test_what_was_split_is_found_again(
    drawn: tuple[list[list[int | None]], list[tuple[int, ...]], frozenset[int]],
) -> None:
    operands, groups, reductions = drawn
    found = loop_groups(operands, reductions)
    assert found == groups
    for dims in operands:
        taken = collapsed_dims(dims, found)
        assert taken is not None
        assert sorted(d for _, part in taken for d in part) == list(range(len(dims)))
        assert [loop for number, _ in taken for loop in found[number]] == [loop for loop in dims if loop is not None]
        assert all([dims[d] for d in part if dims[d] is not None] == list(found[number]) for number, part in taken)


def test_loops_that_one_operand_turns_stay_apart() -> None:
    assert loop_groups([[0, 1, 2], [1, 0]], frozenset()) == [(0,), (1,), (2,)]


def test_loops_that_one_operand_lacks_stay_apart() -> None:
    assert loop_groups([[0, 1], [1]], frozenset()) == [(0,), (1,)]


def test_a_reduction_stays_apart_from_a_parallel_loop() -> None:
    assert loop_groups([[0, 1]], frozenset({1})) == [(0,), (1,)]


def test_an_operand_with_a_part_of_a_group_is_refused() -> None:
    assert collapsed_dims([1], [(0, 1)]) is None
    assert collapsed_dims([0], [(0, 1)]) is None
    assert collapsed_dims([0, 2, 1], [(0, 1), (2,)]) is None
    assert collapsed_dims([2, 0, 1], [(0, 1), (2,)]) == [(1, [0]), (0, [1, 2])]
