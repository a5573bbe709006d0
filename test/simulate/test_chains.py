"""Chains of descriptors: as few as go round by themselves."""

from __future__ import annotations

import pytest

from npuflow.simulate.chains import ChainMove, chain_length, task_lengths


@pytest.mark.parametrize(
    ("moves", "most", "length"),
    [
        ([("a", 0)], 0, 1),
        # Further on by 4 each time.
        ([("a", 0), ("a", 4), ("a", 8)], 0, 1),
        # Two in turn, each by a step of its own.
        ([("a", 0), ("b", 5), ("a", 1), ("b", 9)], 0, 2),
        # Other steps at the end: the first comes up again, by 9 further on; or none does.
        ([("a", 0), ("a", 4), ("a", 9)], 0, 2),
        ([("a", 0), ("b", 4), ("c", 9)], 0, 3),
        # A descriptor counts to 2 only; one that stays where it is needn't count.
        ([("a", 0), ("a", 4), ("a", 8), ("a", 12)], 2, 2),
        ([("a", 7)] * 5, 2, 1),
    ],
)
def test_length(moves: list[tuple[str, int]], most: int, length: int) -> None:
    assert chain_length([ChainMove(kind, position) for kind, position in moves], most) == length


def test_tasks_with_a_chain_each() -> None:
    # Four blocks of two rows each; then the same, eight elements on.
    moves = [ChainMove("a", begin + 2 * block) for begin in (0, 100) for block in range(4)]
    assert chain_length(moves, 0) == 4
    assert task_lengths(moves, 0, 1) == (4,)
    assert task_lengths(moves, 0, 4) == (1, 1)
    # What goes round as it is takes one task.
    assert task_lengths(moves[:4], 0, 4) == (1,)
