"""The native search for packings, with nothing of Python around it."""

from __future__ import annotations

import signal
from types import FrameType

import pytest
from hypothesis import given
from packings import cut_rectangle, drawn_buffers, least_bytes

from npuflow import _native
from npuflow.allocate.check import packing_problems
from npuflow.allocate.problem import LiveBuffer

Demands = list[tuple[int, int, int, int]]
ENOUGH_SECONDS = 600.0


def demands_of(buffers: list[LiveBuffer]) -> Demands:
    return [(b.lower, b.upper, b.size, b.alignment) for b in buffers]


@given(drawn_buffers(most=6, alignments=(1, 1, 2, 3, 4)))
def test_what_is_best_is_found_and_less_is_refuted(buffers: list[LiveBuffer]) -> None:
    sized = [buffer for buffer in buffers if buffer.size]
    least = least_bytes(sized)
    found = _native.pack(demands_of(sized), least, ENOUGH_SECONDS)
    assert found.verdict == "packed"
    assert packing_problems(sized, found.offsets, least) == []
    if sized:
        assert _native.pack(demands_of(sized), least - 1, ENOUGH_SECONDS).verdict == "impossible"


@given(drawn_buffers(most=6).map(lambda drawn: [LiveBuffer(b.name, b.lower, b.upper, 1 + b.size, 8) for b in drawn]))
def test_a_common_alignment_leaves_the_rest_of_a_capacity_to_the_last(buffers: list[LiveBuffer]) -> None:
    least = least_bytes(buffers)
    assert _native.pack(demands_of(buffers), least, ENOUGH_SECONDS).verdict == "packed"
    assert _native.pack(demands_of(buffers), least - 1, ENOUGH_SECONDS).verdict == "impossible"


@pytest.mark.parametrize("seed", range(8))
def test_pieces_of_a_rectangle_fill_it_again(seed: int) -> None:
    pieces = cut_rectangle(seed, count=60, time=40, capacity=4096, step=16)
    found = _native.pack(demands_of(pieces), 4096, ENOUGH_SECONDS)
    assert found.verdict == "packed"
    assert packing_problems(pieces, found.offsets, 4096) == []
    again = _native.pack(demands_of(pieces), 4096, ENOUGH_SECONDS)
    assert (again.offsets, again.steps) == (found.offsets, found.steps)


def test_a_search_without_time_decides_nothing() -> None:
    pieces = cut_rectangle(1, count=60, time=40, capacity=4096, step=1)
    assert _native.pack(demands_of(pieces), 4096, 0.0).verdict == "undecided"


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ((3, 3, 1, 1), "no lifetime"),
        ((0, 1, 0, 1), "no size"),
        ((0, 1, 1, 0), "no alignment"),
        ((0, 1, 1 << 60, 1), "add up"),
    ],
)
def test_wrong_demands_are_refused(demand: tuple[int, int, int, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        _native.pack([demand], 10, 1.0)
    with pytest.raises(ValueError, match=said):
        _native.first_fit([demand], [0])


def test_wrong_capacities_and_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="capacity"):
        _native.pack([(0, 1, 1, 1)], -1, 1.0)
    with pytest.raises(ValueError, match="order"):
        _native.first_fit([(0, 1, 1, 1)], [1])


def test_first_fit_goes_into_gaps() -> None:
    # The first two live apart from each other; the third meets both, the fourth only the second.
    demands = [(0, 2, 4, 1), (2, 4, 2, 1), (1, 3, 3, 1), (3, 4, 1, 1), (2, 3, 2, 1)]
    assert _native.first_fit(demands, [0, 1, 2, 3, 4]) == [0, 0, 4, 2, 2]
    assert _native.first_fit([(0, 1, 3, 1), (0, 1, 2, 4)], [0, 1]) == [0, 4]


class AlarmRung(Exception):  # noqa: N818  (it is no error)
    pass


def ring(_number: int, _frame: FrameType | None) -> None:
    raise AlarmRung


def test_a_signal_ends_a_search() -> None:
    pieces = demands_of(cut_rectangle(7, count=900, time=300, capacity=1 << 20, step=1))
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(AlarmRung):
            _native.pack(pieces, 1 << 20, ENOUGH_SECONDS)
    finally:
        signal.signal(signal.SIGALRM, before)
