"""The ways to lay buffers into a memory: right on what is drawn, best where that is known, quick on what is hard."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from packings import cut_rectangle, drawn_buffers, least_bytes
from stopwatch import best_of

from npuflow.allocate.baselines import coloured_offsets, greedy_offsets
from npuflow.allocate.check import packing_problems
from npuflow.allocate.exact import PartSearch
from npuflow.allocate.problem import LiveBuffer, packing_of, parts, peak_bytes
from npuflow.allocate.solve import AllocationMethod, allocate
from npuflow.allocate.table import read_table

INPUTS = Path(__file__).parent / "Inputs"
HARD = sorted(INPUTS.glob("*.csv"))
ENOUGH_SECONDS = 600.0


@given(drawn_buffers(most=14, alignments=(1, 2, 8)))
def test_no_method_overlaps_and_exact_needs_least(buffers: list[LiveBuffer]) -> None:
    need = {}
    for method in AllocationMethod:
        packing = allocate(buffers, method, seconds=0.2)
        assert packing_problems(buffers, packing.offsets, packing.need_bytes) == []
        assert packing.bound_bytes <= packing.need_bytes
        need[method] = packing.need_bytes
    assert need[AllocationMethod.EXACT] <= min(need.values())


@given(drawn_buffers(most=6, alignments=(1, 2, 3)))
def test_without_a_capacity_the_least_is_found_and_proved(buffers: list[LiveBuffer]) -> None:
    packing = allocate(buffers, seconds=ENOUGH_SECONDS)
    assert packing.need_bytes == packing.bound_bytes == least_bytes(buffers)


def test_no_capacity_between_is_skipped() -> None:
    # 5 bytes are needed, 6 are taken, and 4 are too few: with a buffer of one byte every number counts.
    search = PartSearch([LiveBuffer("a", 0, 1, 4), LiveBuffer("b", 0, 1, 1)], [0, 5], time.monotonic() + ENOUGH_SECONDS)
    search.minimise(4)
    assert (search.need_bytes, search.refuted_bytes) == (5, 4)


@given(drawn_buffers(most=6, alignments=(1, 4)))
def test_a_capacity_is_kept_exactly_if_it_can_be(buffers: list[LiveBuffer]) -> None:
    least = least_bytes(buffers)
    assert allocate(buffers, capacity=least, seconds=ENOUGH_SECONDS).need_bytes <= least
    below = allocate(buffers, capacity=least - 1, seconds=ENOUGH_SECONDS)
    assert least - 1 < below.bound_bytes <= least <= below.need_bytes


@given(drawn_buffers(most=12))
def test_parts_share_no_time_and_cannot_be_smaller(buffers: list[LiveBuffer]) -> None:
    found = parts(buffers)
    assert sorted(i for part in found for i in part) == list(range(len(buffers)))
    spans = [(min(buffers[i].lower for i in part), max(buffers[i].upper for i in part)) for part in found]
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    for part, (begin, end) in zip(found, spans):
        inside = range(begin + 1, end)
        assert all(any(buffers[i].lower < time < buffers[i].upper for i in part) for time in inside)


@pytest.mark.parametrize("file", HARD, ids=lambda file: file.stem)
def test_hard_problems_are_packed_tight(file: Path) -> None:
    buffers = read_table(str(file)).buffers
    capacity = int(file.stem.partition(".")[2])
    packing = allocate(buffers, capacity=capacity, seconds=ENOUGH_SECONDS)
    assert packing_problems(buffers, packing.offsets, capacity) == []
    # No baseline gets there: the search is what finds these.
    assert packing_of(buffers, greedy_offsets(buffers), 0).need_bytes > 1.1 * capacity
    assert packing_of(buffers, coloured_offsets(buffers), 0).need_bytes > 1.1 * capacity


@pytest.mark.speed
def test_all_hard_problems_take_no_second_each() -> None:
    for file in HARD:
        buffers = read_table(str(file)).buffers
        assert best_of(1, lambda buffers=buffers: allocate(buffers, capacity=1048576, seconds=60.0)) < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_rectangles_beside_each_other_fill_them_again(seed: int) -> None:
    pieces = cut_rectangle(seed, count=50, time=30, capacity=1 << 16, step=64)
    later = [LiveBuffer(f"later-{b.name}", b.lower + 30, b.upper + 30, b.size) for b in pieces[::-1]]
    packing = allocate(pieces + later, seconds=ENOUGH_SECONDS)
    assert packing.need_bytes == packing.bound_bytes == 1 << 16
    assert packing_problems(pieces + later, packing.offsets, 1 << 16) == []


def test_colouring_shares_places_and_stacks_them() -> None:
    buffers = [
        LiveBuffer("a", 0, 2, 4),
        LiveBuffer("b", 2, 4, 3),
        LiveBuffer("c", 1, 3, 2),
        LiveBuffer("d", 3, 5, 1, 8),
    ]
    # a and b share the first place of 4 bytes, c and d the one behind it, where d is aligned.
    assert coloured_offsets(buffers) == [0, 0, 4, 8]


def test_a_budget_that_is_over_leaves_what_greedy_found() -> None:
    buffers = read_table(str(HARD[0])).buffers
    packing = allocate(buffers, seconds=0.0)
    assert list(packing.offsets) == greedy_offsets(buffers)
    assert packing.bound_bytes == peak_bytes(buffers) < packing.need_bytes
