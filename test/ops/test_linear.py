"""Sums of loops: how many values they take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npuflow.ops.linear import Linear

COEFFICIENT, SIZE = st.integers(1, 9), st.integers(1, 12)


@given(st.lists(st.tuples(COEFFICIENT, SIZE), min_size=1, max_size=3))
def test_distinct_values_are_counted(terms: list[tuple[int, int]]) -> None:
    values = {0}
    for coefficient, size in terms:
        values = {value + coefficient * step for value in values for step in range(size)}
    linear = Linear(tuple((loop, coefficient) for loop, (coefficient, _) in enumerate(terms)))
    assert linear.distinct([size for _, size in terms]) == len(values)


def test_counting_takes_no_time_that_grows_with_sizes() -> None:
    assert Linear(((0, 2), (1, 3))).distinct([2**40, 3]) == 3 * 2**40 - (2**40 - 3)
