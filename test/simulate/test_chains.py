"""Chains of descriptors: as few as go round by themselves."""

from __future__ import annotations

import pytest

from npuflow.simulate.chains import ChainMove, ChainTask, chain_length, chain_tasks


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
    assert chain_tasks(moves, 0, 1) == (ChainTask(8, 4),)
    assert chain_tasks(moves, 0, 4) == (ChainTask(4, 1), ChainTask(4, 1))
    # What goes round as it is takes one task.
    assert chain_tasks(moves[:4], 0, 4) == (ChainTask(4, 1),)


def test_tasks_of_unlike_lengths() -> None:
    """Columns of a weight in sixteen pieces, then a bias and a row of something else; twice."""
    pieces = [[ChainMove("weight", begin + 16 * piece) for piece in range(16)] for begin in (0, 131072)]
    others = [[ChainMove("bias", begin), ChainMove("row", begin)] for begin in (0, 512)]
    moves = [*pieces[0], *others[0], *pieces[1], *others[1]]
    tasks = (ChainTask(16, 1), ChainTask(2, 2), ChainTask(16, 1), ChainTask(2, 2))
    assert chain_tasks(moves, 0, 4) == tasks
    # With room for fewer tasks, a chain of all that goes round twice.
    assert chain_tasks(moves, 0, 2) == (ChainTask(36, 18),)
    # What comes in turns is one chain.
    turns = [ChainMove(kind, 8 * turn) for turn in range(6) for kind in ("a", "b")]
    assert chain_tasks(turns, 0, 4) == (ChainTask(12, 2),)
