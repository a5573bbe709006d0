"""How much of a whole run each kind of engine was at work, in as many pieces as a screen has room for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Cycles = NDArray[np.int64]
PIECES = 480
# Of a page's functions together; a page of many has fewer of each.
_MOST_PIECES, _LEAST_PIECES = 30_000, 24


def pieces_of_each(functions: int) -> int:
    """The pieces of each overview where there are so many."""
    return max(_LEAST_PIECES, min(PIECES, _MOST_PIECES // max(1, functions)))


def activity(begins: Cycles, ends: Cycles, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cycles of all spans together that lie between each edge and the next."""
    return np.diff(_passed(begins, edges) - _passed(ends, edges))


def _passed(points: Cycles, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """For every edge, the sum of how far each point lies before it."""
    ordered = np.sort(points)
    sums = np.concatenate(([0], np.cumsum(ordered, dtype=np.float64)))
    before = np.searchsorted(ordered, edges)
    return before * edges - sums[before]


def shares_at_work(
    rows: Cycles, kinds: Sequence[str], is_work: NDArray[np.bool_], cycles: int, pieces: int = PIECES
) -> Mapping[str, list[int]]:
    """In per cent, by kind of engine, for each piece of a run.

    `rows` are (engine, step, begin, end), `kinds` those of the engines, and `is_work` says of each step whether it is.
    """
    edges = np.linspace(0, max(cycles, 1), pieces + 1)
    work = rows[is_work[rows[:, 1]]]
    names = np.array(kinds)
    found: dict[str, list[int]] = {}
    for kind in dict.fromkeys(kinds):
        ours = work[names[work[:, 0]] == kind]
        whole = max(cycles, 1) / pieces * int(np.count_nonzero(names == kind))
        shares = activity(ours[:, 2], ours[:, 3], edges) / whole
        found[kind] = np.clip(np.ceil(100 * shares - 1e-6), 0, 100).astype(int).tolist()
    return found
