"""How busy engines were in each piece of a run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npuflow.report.overview import PIECES, activity, pieces_of_each, shares_at_work

SPANS = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 200)), max_size=20)


@given(SPANS, st.integers(1, 40))
def test_activity_is_what_each_span_has_in_each_piece(spans: list[tuple[int, int]], pieces: int) -> None:
    begins = np.array([begin for begin, _ in spans], dtype=np.int64)
    ends = begins + np.array([length for _, length in spans], dtype=np.int64)
    edges = np.linspace(0, 1300, pieces + 1)
    expected = [
        sum(max(0.0, min(e, high) - max(b, low)) for b, e in zip(begins, ends)) for low, high in pairwise(edges)
    ]
    np.testing.assert_allclose(activity(begins, ends, edges), expected, atol=1e-6)


def test_shares_count_all_engines_of_a_kind_and_no_waiting() -> None:
    # Two cores: one computes all of the first half, the other waits; a channel moves through the second half.
    rows = np.array([[0, 0, 0, 50], [1, 1, 0, 50], [2, 2, 50, 100]], dtype=np.int64)
    shares = shares_at_work(rows, ["core", "core", "dma"], np.array([True, False, True]), 100, pieces=4)
    assert shares == {"core": [50, 50, 0, 0], "dma": [0, 0, 100, 100]}


def test_many_functions_have_fewer_pieces_each() -> None:
    assert pieces_of_each(1) == PIECES
    assert 100 * pieces_of_each(100) <= 30_000
    assert pieces_of_each(10**6) == 24
