"""Which lanes even a memory tile's descriptors out."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from npuflow.strategy.lane_descriptors import Choice, Moved, Results, TileDma, evenest, fullest_group
from npuflow.target import load_device

PATTERN = load_device("npu1").dma(2).pattern
NPU1 = TileDma(rows=4, channels_out=6, groups=2, lanes=2, leaving=1, pattern=PATTERN)


def test_channels_in_turn_belong_to_a_group() -> None:
    moved, choice = (Moved(1, 10, True), Moved(100, 1000, False)), Choice((0, 1), frozenset([0]))
    # Even: in-channels 0 (1), 2 and 4 (7 each), out-channels 0, 2 (10 each) and 4, lane 1's (1000).
    # Odd: in-channels 1 (100), 3 and 5 (7 each), out-channels 1, 3 (10 each) and 5, the results' (5).
    assert fullest_group(moved, choice, Results(gathered=7, left=5), NPU1) == 1 + 2 * 7 + 2 * 10 + 1000
    assert fullest_group(moved, choice, Results(gathered=7, left=1000), NPU1) == 100 + 2 * 7 + 2 * 10 + 1000


def test_buffers_for_single_rows_don_t_crowd_one_group() -> None:
    # What a norm's last ops read: two rows of weights and the rows themselves for single rows, and a number for all.
    moved, results = (Moved(2, 2, True),) * 3 + (Moved(2, 2, False),), Results(2, 2)
    together = Choice((0, 0, 1, 1), frozenset([1]))
    assert fullest_group(moved, together, results, NPU1) == 4 + 16 + 2 * 4 + 2 * 2
    best = evenest(moved, results, NPU1)
    assert fullest_group(moved, best, results, NPU1) <= 24


@given(
    st.lists(st.builds(Moved, st.integers(1, 8), st.integers(1, 8), st.booleans()), max_size=4),
    st.builds(Results, st.integers(0, 8), st.integers(0, 8)),
    st.builds(
        TileDma,
        *(st.integers(1, 4), st.sampled_from([2, 3, 6]), st.sampled_from([1, 2])),
        lanes=st.just(2),
        leaving=st.just(1),
        pattern=st.just(PATTERN),
    ),
)
def test_no_other_lanes_need_fewer(moved: list[Moved], results: Results, dma: TileDma) -> None:
    best = evenest(tuple(moved), results, dma)
    need = fullest_group(moved, best, results, dma)
    used = sum(dma.rows if lane in best.separate else 1 for lane in set(best.lanes))
    assert used + 1 <= max(dma.channels_out, 1 + len(set(best.lanes)))
    for lanes in product((0, 1), repeat=len(moved)):
        assert need <= fullest_group(moved, Choice(lanes, frozenset()), results, dma)


@given(
    st.lists(st.builds(Moved, st.integers(1, 3), st.integers(1, 3), st.booleans()), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_the_order_of_buffers_changes_nothing(moved: list[Moved], random: Random) -> None:
    """The choice for a device and the schedule list them in different orders, and have to agree."""
    results, mixed = Results(1, 1), random.sample(moved, len(moved))
    needs = {fullest_group(each, evenest(tuple(each), results, NPU1), results, NPU1) for each in (moved, mixed)}
    assert len(needs) == 1
