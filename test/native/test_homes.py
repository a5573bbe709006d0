"""The native search for homes in memory tiles, held against trying all: bytes of tiles are counted one by one."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from types import FrameType
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow import _native

BYTES, ALIGNMENT, PHASES, COLUMNS = 10, 2, 4, 2
ENOUGH = 1_000_000
NEEDED = [(0, 0, 3), (2, 1, 4)]
Cells: TypeAlias = frozenset[tuple[int, int, int]]  # by column, phase and byte
OWN: Cells = frozenset((column, phase, byte) for phase, column, size in NEEDED for byte in range(size))


@dataclass(frozen=True)
class Way:
    slab_bytes: int
    first: int
    last: int
    places: tuple[tuple[int, ...], ...]
    gained: int = 1
    late: int = 0
    is_moved: bool = True

    @property
    def moves(self) -> tuple[tuple[int, bool], ...]:
        return ((self.first, True), (self.last, False)) if self.is_moved else ()

    @property
    def native(self) -> _native.HomeWay:
        return _native.HomeWay(self.slab_bytes, self.first, self.last, self.places, self.moves)

    def cells(self, column: int, address: int) -> Cells:
        phases = range(self.first, self.last + 1)
        return frozenset((column, phase, address + byte) for phase in phases for byte in range(self.slab_bytes))

    def channels(self, place: Sequence[int]) -> Counter[tuple[int, int, bool]]:
        return Counter((phase, column, writes) for column in place for phase, writes in self.moves)

    def apart(self, column: int, taken: Cells) -> Iterator[int]:
        """Where nothing is yet, the highest address first."""
        highest = (BYTES - self.slab_bytes) // ALIGNMENT * ALIGNMENT
        return (a for a in range(highest, -1, -ALIGNMENT) if taken.isdisjoint(self.cells(column, a)))


Choice: TypeAlias = tuple[Way, tuple[int, ...]]


def room_with(left: int) -> _native.SlabRoom:
    channels = [(*where, left) for where in product(range(PHASES), range(COLUMNS), (False, True))]
    return _native.SlabRoom(BYTES, ALIGNMENT, NEEDED, channels)


def search(
    tensors: Sequence[Sequence[Way]], left: int, choices: int = ENOUGH, orders: int = 20, changes: int = 100
) -> tuple[list[tuple[Choice, list[int]]], int]:
    options = [[(way.native, float(way.gained), float(way.late)) for way in ways] for ways in tensors]
    found, looked = _native.search_homes(options, room_with(left), choices, orders, changes)
    assert len({number for number, *_ in found}) == len(found)
    return [((tensors[n][way], tensors[n][way].places[place]), at) for n, way, place, at in found], looked


def has_channels(chosen: Sequence[Choice], left: int) -> bool:
    taken = sum((way.channels(place) for way, place in chosen), Counter[tuple[int, int, bool]]())
    return all(count <= left for count in taken.values())


def won(chosen: Sequence[Choice]) -> int:
    return sum(way.gained for way, _ in chosen)


def together(tensors: Sequence[Sequence[Way]], left: int) -> Iterator[list[Choice]]:
    """Choices that take no longer in all and have channels: each tensor in each way and place, or nowhere."""
    each = [[None, *((way, place) for way in ways for place in way.places)] for ways in tensors]
    for chosen in ([one for one in found if one is not None] for found in product(*each)):
        if sum(way.late for way, _ in chosen) <= 0 and has_channels(chosen, left):
            yield chosen


def fit_in_order(chosen: Sequence[Choice]) -> bool:
    """Whether there is room for each as high as can be."""
    taken = OWN
    for way, column in ((way, column) for way, place in chosen for column in place):
        address = next(way.apart(column, taken), None)
        if address is None:
            return False
        taken |= way.cells(column, address)
    return True


def fit_somewhere(slabs: Sequence[tuple[Way, int]], taken: Cells = OWN) -> bool:
    """Whether there are addresses at which no slab is in another's way."""
    if not slabs:
        return True
    (way, column), *others = slabs
    return any(fit_somewhere(others, taken | way.cells(column, a)) for a in way.apart(column, taken))


@st.composite
def ways(draw: st.DrawFn) -> list[list[Way]]:
    tensors = []
    for _ in range(draw(st.integers(1, 4))):
        own = []
        for _ in range(draw(st.integers(1, 2))):
            first = draw(st.integers(0, PHASES - 1))
            places = draw(st.sampled_from((((0,), (1,)), ((1,), (0,)), ((0, 1),), ((0,),))))
            size, last = draw(st.integers(0, 6)), draw(st.integers(first, PHASES - 1))
            gained, late = draw(st.integers(0, 9)), draw(st.sampled_from((-1, 0, 0, 1)))
            own.append(Way(size, first, last, places, gained, late, draw(st.booleans())))
        tensors.append(sorted(own, key=lambda way: -way.gained))
    return tensors


@drawn(60, 2000)
@given(ways(), st.integers(1, 3), st.sampled_from((ENOUGH, 4, 0)))
def test_homes_are_apart_and_win_what_they_can(tensors: list[list[Way]], left: int, choices: int) -> None:
    found, _ = search(tensors, left, choices)
    chosen = [one for one, _ in found]
    assert has_channels(chosen, left)
    assert sum(way.late for way, _ in chosen) <= 0
    taken = OWN
    for (way, place), addresses in found:
        assert len(addresses) == len(place)
        for column, address in zip(place, addresses, strict=True):
            assert 0 <= address <= BYTES - way.slab_bytes
            assert address % ALIGNMENT == 0
            assert taken.isdisjoint(way.cells(column, address))
            taken |= way.cells(column, address)
    possible = sorted(together(tensors, left), key=won, reverse=True)
    slabs = ([(way, column) for way, place in each for column in place] for each in possible)
    assert won(chosen) <= next(won(each) for each, own in zip(possible, slabs, strict=True) if fit_somewhere(own))
    if choices == ENOUGH:
        assert won(chosen) >= next(won(each) for each in possible if fit_in_order(each))


@drawn(60, 2000)
@given(ways(), st.integers(1, 3))
def test_a_home_beside_others_is_the_first_that_is_free(tensors: list[list[Way]], left: int) -> None:
    (asked, *_), *others = tensors
    found, _ = search(others, left)
    there = [(way.native, place, addresses) for (way, place), addresses in found]
    home = _native.home_beside(asked.native, there, room_with(left))
    taken = OWN.union(*(way.cells(c, a) for (way, place), at in found for c, a in zip(place, at, strict=True)))
    chosen = [one for one, _ in found]
    expected = None
    for number, place in enumerate(asked.places):
        addresses = [next(asked.apart(column, taken), None) for column in place]
        if expected is None and None not in addresses and has_channels([*chosen, (asked, place)], left):
            expected = number, addresses
    assert home == expected


def test_where_all_tensors_stay_nothing_else_is_looked_at() -> None:
    """What they gain sums up to a little more in one order than in another."""
    gained = [2e-5 + 0.1e-6 * (number % 7 + 1) / 3 for number in range(40)]
    way = _native.HomeWay(10, 0, 1, ((0,), (1,)), ())
    room = _native.SlabRoom(1000, 10, (), ())
    tensors = [[(way, each, 0.0)] for each in sorted(gained, reverse=True)]
    found, looked = _native.search_homes(tensors, room, 50, 0, 0)
    assert (len(found), looked) == (40, 41)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="no alignment"):
        _native.SlabRoom(100, 0, (), ())
    with pytest.raises(ValueError, match="beyond"):
        _native.SlabRoom(100, 1, ((0, 1 << 20, 1),), ())
    with pytest.raises(ValueError, match="before it is made"):
        _native.HomeWay(10, 2, 1, ((0,),), ())
    with pytest.raises(ValueError, match="twice"):
        _native.HomeWay(10, 0, 1, ((0, 0),), ())
    way, room = _native.HomeWay(10, 0, 1, ((0,),), ()), _native.SlabRoom(100, 1, (), ())
    with pytest.raises(ValueError, match="no way to stay"):
        _native.search_homes([[]], room, 10, 10, 10)
    with pytest.raises(ValueError, match="an address"):
        _native.home_beside(way, [(way, (0, 1), (0,))], room)


class AlarmRung(Exception):  # noqa: N818  (it is no error)
    pass


def ring(_number: int, _frame: FrameType | None) -> None:
    raise AlarmRung


def test_a_signal_ends_a_search() -> None:
    """All but one of forty tensors of about the same worth have room: that is looked for in more than 2^40 choices."""
    way = _native.HomeWay(10, 0, 1, ((0,), (1,)), ())
    room = _native.SlabRoom(190, 10, (), ())
    tensors = [[(way, 1.0 + number / 1e6, 0.0)] for number in reversed(range(40))]
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(AlarmRung):
            _native.search_homes(tensors, room, 1 << 60, 0, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
