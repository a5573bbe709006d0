"""What a matmul moves: published exact optima, brute force over blocks, and bounds that stay below."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.bounds.blocks import block_sizes, blocks_of
from npuflow.bounds.gemm import attainable, compulsory_bytes, fits_bytes, lower_bound_bytes, products_of
from npuflow.bounds.pebbling import pebbling_bytes
from npuflow.bounds.private import private_bytes
from npuflow.bounds.sizes import MatmulSizes

CUBE = MatmulSizes(512, 512, 512, 1, 1, 1, 1, 1)
extents, widths = st.integers(1, 12), st.sampled_from([1, 2, 4])
small_matmuls = st.builds(MatmulSizes, extents, extents, extents, st.integers(1, 3), widths, widths, widths, widths)


def test_compulsory_is_each_operand_and_the_result_once() -> None:
    assert compulsory_bytes(CUBE) == 3 * 512 * 512
    # (2*3)*1 + (3*5)*2 + (2*5)*4, seven times
    assert compulsory_bytes(MatmulSizes(2, 5, 3, 7, 1, 2, 4, 4)) == 7 * (6 + 30 + 40)


@pytest.mark.parametrize(("fast", "exact"), [(4161, 4_456_448), (16_513, 2_359_296), (262_657, 786_432)])
def test_published_exact_optima(fast: int, exact: int) -> None:
    found = attainable(CUBE, fast)
    assert found is not None
    assert found.bytes == exact
    # Exact optima have a side of 64, 128 or 512 where the bound has sqrt(S), slightly more.
    assert 0.98 * exact <= lower_bound_bytes(CUBE, fast) <= exact


def test_the_bound_is_the_formula_where_that_is_more_than_compulsory() -> None:
    root_of_s = 32
    assert lower_bound_bytes(CUBE, root_of_s**2) == 2 * 512**3 // root_of_s + 512**2


def test_widths_never_raise_the_bound_above_what_a_tiling_moves() -> None:
    # A 128x128 tile of i32 sums resident: 64 KiB and a column and a row; the operands of one byte stream by.
    sizes = MatmulSizes(512, 512, 512, 1, 1, 1, 4, 4)
    attained = 512**3 * (1 / 128 + 1 / 128) + 4 * 512**2
    assert lower_bound_bytes(sizes, 128 * 128 * 4 + 256) <= attained


def blocks_that_fit(one: MatmulSizes, fast: int) -> list[int]:
    """What every block of any tensor moves that fits, each size of blocks tried."""
    m, n, k, lhs, rhs, acc = one.m, one.n, one.k, one.lhs_bytes, one.rhs_bytes, one.acc_bytes
    result = m * n * one.result_bytes
    both = product(range(1, m + 1), range(1, n + 1))
    found = [
        m * k * lhs * -(-n // b) + k * n * rhs * -(-m // a) + result
        for a, b in both
        if a * b * acc + min(a * lhs + rhs, b * rhs + lhs) <= fast
    ]
    found += [
        m * k * lhs + k * n * rhs * -(-m // a) + result
        for a in range(1, m + 1)
        if a * k * lhs + min(a * acc + rhs, k * rhs + acc) <= fast
    ]
    found += [
        k * n * rhs + m * k * lhs * -(-n // b) + result
        for b in range(1, n + 1)
        if b * k * rhs + min(b * acc + lhs, k * lhs + acc) <= fast
    ]
    return found


@given(small_matmuls, st.integers(1, 900))
def test_no_block_moves_less(sizes: MatmulSizes, fast: int) -> None:
    found, tried = attainable(sizes, fast), blocks_that_fit(sizes.once, fast)
    assert (found and found.bytes) == (sizes.batch * min(tried) if tried else None)
    assert found is None or found.bytes >= lower_bound_bytes(sizes, fast)


@given(small_matmuls)
def test_from_where_it_fits_on_nothing_moves_twice(sizes: MatmulSizes) -> None:
    fits = fits_bytes(sizes)
    at, below = attainable(sizes, fits), attainable(sizes, fits - 1)
    assert at is not None
    assert at.bytes == compulsory_bytes(sizes)
    assert below is None or below.bytes > at.bytes


@given(st.integers(1, 300), st.integers(1, 400))
def test_block_sizes_are_the_smallest_of_each_number_of_blocks(extent: int, most: int) -> None:
    counts = {blocks_of(extent, size) for size in range(1, min(extent, most) + 1)}
    found = list(block_sizes(extent, most))
    assert [blocks_of(extent, size) for size in found] == sorted(counts)
    assert all(size == 1 or blocks_of(extent, size - 1) > blocks_of(extent, size) for size in found)


def test_large_sizes_take_no_time() -> None:
    sizes = MatmulSizes(10**7, 10**7, 10**5, 1, 2, 2, 4, 2)
    found = attainable(sizes, 1 << 25)
    assert found is not None
    assert lower_bound_bytes(sizes, 1 << 25) <= found.bytes


def test_sums_of_few_terms_may_move_less_than_the_formula() -> None:
    # Half of the left operand stays, 512 x 512 of it; the right one comes twice, each result leaves as it is made.
    sizes = MatmulSizes(1024, 8192, 512, 1, 1, 1, 1, 1)
    found = attainable(sizes, 262_657)
    assert found is not None
    assert found.bytes == 1024 * 512 + 2 * 512 * 8192 + 1024 * 8192 < pebbling_bytes(products_of(sizes), 262_657)
    products = sizes.m * sizes.n * sizes.k
    assert lower_bound_bytes(sizes, 262_657) == int(2 * products / sqrt(262_657)) - 2 * 262_657


def test_private_memories_each_receive_their_own() -> None:
    # 8 memories of 1024 elements: 2^24 products each, 2 * 2^24 / 32 + 1024; no more than (2^24)^(2/3) elements help.
    assert private_bytes(CUBE, 8, 1024) == 2 * 2**24 // 32 + 1024
    assert private_bytes(CUBE, 8, 2**30) == pytest.approx(3 * 2**16, abs=1)
    assert 8 * private_bytes(CUBE, 8, 1024) > lower_bound_bytes(CUBE, 8 * 1024)
