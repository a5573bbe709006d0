"""How many descriptors a pattern takes, by hand and against what it moves."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from npuflow.target.model import PatternLimits
from npuflow.target.patterns import fit

LIMITS = PatternLimits(dims=3, granule_bytes=4, size_max=16, stride_max=1024, length_max=4096, iteration_max=8)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 3)), min_size=1, max_size=5), st.sampled_from([4, 8]))
def test_descriptors_hold_all_that_a_pattern_moves(dims: list[tuple[int, int]], element_bytes: int) -> None:
    # Strides that never merge or overlap: each dimension steps over a little more than the ones inside of it.
    steps, stride = [], 1
    for size, gap in reversed(dims):
        steps.insert(0, (size, stride))
        stride = size * stride + gap
    found = fit(steps, element_bytes, LIMITS).descriptors
    moved = prod(size for size, _ in steps) * element_bytes // LIMITS.granule_bytes
    assert found * LIMITS.length_max * LIMITS.iteration_max >= moved
    assert found <= moved


def test_patterns_that_fit_and_that_do_not() -> None:
    assert fit([(4096, 1)], 4, LIMITS).descriptors == 1  # contiguous: only its length counts
    assert fit([(4097, 1)], 4, LIMITS).descriptors == 2
    assert fit([(4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 1
    assert fit([(8, 400), (4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 1  # the outermost one is the iteration
    assert fit([(9, 400), (4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 2  # which counts to 8
    assert fit([(2, 900), (8, 400), (4, 50), (4, 10), (4, 1)], 4, LIMITS).descriptors == 8
    assert fit([(20, 100), (32, 1)], 4, LIMITS).descriptors == 1  # 32 is two times 16
    assert fit([(20, 100), (17, 1)], 4, LIMITS).descriptors == 2  # 17 has no factor
    assert fit([(2, 1025), (4, 1)], 4, LIMITS).descriptors == 2  # a step too wide
    assert not fit([(4, 8), (4, 1)], 1, LIMITS).is_sub_granule
    assert fit([(4, 8), (3, 1)], 1, LIMITS).is_sub_granule
    assert fit([(4, 7), (4, 1)], 1, LIMITS).is_sub_granule
    assert fit([(4, 8)], 2, LIMITS).is_sub_granule
