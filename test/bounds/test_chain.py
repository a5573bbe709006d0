"""Two matmuls in a row, and attention: published exact optima, and what fusing saves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.bounds.chain import (
    fused_attainable,
    fused_compulsory_bytes,
    unfused_attainable,
    unfused_compulsory_bytes,
)
from npuflow.bounds.sizes import ChainSizes, MatmulSizes


def chain(m: int, k: int, between: int, n: int, batch: int = 1) -> ChainSizes:
    return ChainSizes(MatmulSizes(m, between, k, batch, 1, 1, 1, 1), MatmulSizes(m, n, between, batch, 1, 1, 1, 1))


FEED_FORWARD = chain(512, 768, 3072, 768)
ATTENTION = chain(512, 64, 512, 64)


def moved(sizes: ChainSizes, fast: int) -> tuple[int, int]:
    unfused, fused = unfused_attainable(sizes, fast), fused_attainable(sizes, fast)
    assert unfused is not None
    assert fused is not None
    return unfused.bytes, fused.bytes


def test_compulsory_leaves_the_product_between_them_out() -> None:
    assert fused_compulsory_bytes(FEED_FORWARD) == 512 * 768 + 768 * 3072 + 3072 * 768 + 512 * 768
    assert unfused_compulsory_bytes(FEED_FORWARD) == fused_compulsory_bytes(FEED_FORWARD) + 2 * 512 * 3072
    assert unfused_compulsory_bytes(ATTENTION) == 655_360


def test_published_exact_optima() -> None:
    assert moved(FEED_FORWARD, 786_944) == (8_650_752, 5_505_024)
    assert moved(ATTENTION, 16_512)[1] == 327_680
    assert moved(ATTENTION, 65_665)[1] == fused_compulsory_bytes(ATTENTION) == 131_072
    assert moved(ATTENTION, 65_664)[1] > 131_072


@pytest.mark.parametrize("fast", [4161, 16_513, 65_793, 131_329, 196_993, 262_656])
def test_where_fusing_saves_nothing(fast: int) -> None:
    unfused, fused = moved(FEED_FORWARD, fast)
    assert fused >= unfused


def test_where_it_begins_to_save() -> None:
    # A 512x512 block of the product between them fits: A comes 6 times, the result goes 6 times and comes back 5.
    unfused, fused = moved(FEED_FORWARD, 262_657)
    assert fused == 6 * 512 * 768 + 2 * 3072 * 768 + 11 * 512 * 768 < unfused


def test_a_block_of_rows_needs_its_rows_and_a_column() -> None:
    for rows in (64, 100, 256):
        fast = rows * (2 * 64 + 1)
        assert moved(ATTENTION, fast)[1] == 2 * 512 * 64 * (1 + -(-512 // rows))


@given(st.tuples(*(st.integers(1, 20) for _ in range(4))), st.integers(1, 3), st.integers(3, 2000))
def test_more_room_never_moves_more_and_all_is_above_compulsory(
    extents: tuple[int, int, int, int], batch: int, fast: int
) -> None:
    sizes, one = chain(*extents, batch), chain(*extents)
    found, more, single = fused_attainable(sizes, fast), fused_attainable(sizes, fast + 7), fused_attainable(one, fast)
    if found is None or more is None or single is None:
        assert found is single is None
        return
    assert found.bytes >= more.bytes >= fused_compulsory_bytes(sizes)
    assert found.bytes == batch * single.bytes
