"""The least a matmul can move: published exact optima lie at or above the bound, and meet it where all fits."""

from __future__ import annotations

import pytest

from npuflow.report.bounds import compulsory_bytes, lower_bound_bytes
from npuflow.strategy.sizes import MatmulSizes

CUBE = MatmulSizes(512, 512, 512, 1, 1, 1, 1, 1)


def test_compulsory_is_each_operand_and_the_result_once() -> None:
    assert compulsory_bytes(CUBE) == 3 * 512 * 512
    # (2*3)*1 + (3*5)*2 + (2*5)*4, seven times
    assert compulsory_bytes(MatmulSizes(2, 5, 3, 7, 1, 2, 4, 4)) == 7 * (6 + 30 + 40)


@pytest.mark.parametrize(("fast", "exact"), [(4161, 4_456_448), (16_513, 2_359_296), (262_657, 786_432)])
def test_the_bound_is_below_the_exact_optimum_and_near_it(fast: int, exact: int) -> None:
    bound = lower_bound_bytes(CUBE, fast)
    # Exact optima have a side of 64, 128 or 512 where the bound has sqrt(S), slightly more.
    assert 0.98 * exact <= bound <= exact


def test_the_bound_is_the_formula_where_that_is_more_than_compulsory() -> None:
    root_of_s = 32
    assert lower_bound_bytes(CUBE, root_of_s**2) == 2 * 512**3 // root_of_s + 512**2


def test_widths_never_raise_the_bound_above_what_a_tiling_moves() -> None:
    # A 128x128 tile of i32 sums resident: 64 KiB and a column and a row; the operands of one byte stream by.
    sizes = MatmulSizes(512, 512, 512, 1, 1, 1, 4, 4)
    attained = 512**3 * (1 / 128 + 1 / 128) + 4 * 512**2
    assert lower_bound_bytes(sizes, 128 * 128 * 4 + 256) <= attained
