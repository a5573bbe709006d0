"""Homes in memory tiles: what fits at all times, beside channels that nobody else takes, and saves most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from npuflow.network import residency
from npuflow.network.residency import Home, HomeCandidate, Residency, Slab, TileRoom, choose_homes, home_beside


def tensor(number: int, size: int, first: int, *reads: int, late: float = 0.0, columns: int = 2) -> HomeCandidate:
    places = tuple((column,) for column in range(columns))
    moves = ((first, True), *((phase, False) for phase in reads))
    return HomeCandidate(number, size, size, first, reads, 2 * size, late, places, moves)


# One channel is left each way, everywhere.
CHANNELS = {(phase, column, writes): 1 for phase in range(10) for column in range(2) for writes in (False, True)}
# DRAM takes a microsecond for a byte: what tensors save is worth more than what their phases win.
ROOM = TileRoom(1000, 10, {(1, 0): 300}, CHANNELS, 1e-6)


def chosen(tensors: Sequence[HomeCandidate], room: TileRoom = ROOM) -> Residency:
    """What stays of tensors that may stay in one way each."""
    return choose_homes([[one] for one in tensors], room)


def test_homes_lie_above_what_phases_need() -> None:
    found = chosen([tensor(0, 500, 0, 1)])
    assert found.homes[0] == Home((Slab(0, 500),), 500)
    assert (found.saved_bytes, found.bound_bytes) == (1000, 1000)
    # 800 bytes don't fit beside phase 1's 300 in column 0.
    assert chosen([tensor(0, 800, 0, 1)]).homes[0].slabs == (Slab(1, 200),)
    assert chosen([tensor(0, 800, 0, 1, columns=1)]).homes == {}


def test_what_isnt_alive_at_the_same_time_lies_in_one_place() -> None:
    one, other = tensor(0, 600, 2, 3, columns=1), tensor(1, 600, 4, 5, columns=1)
    homes = chosen([one, other]).homes
    assert homes[0].slabs == homes[1].slabs == (Slab(0, 400),)


def test_slabs_have_addresses_of_their_own() -> None:
    # 400 bytes take what is above the 300 of phase 1 in column 0; of the two slabs, one lies below it.
    one, two = (
        tensor(0, 400, 0, 1, columns=1),
        HomeCandidate(1, 300, 300, 0, (2,), 1200, 0.0, ((0, 1),), ((0, True), (2, False))),
    )
    free = replace(ROOM, channels=dict.fromkeys(CHANNELS, 2))
    homes = chosen([one, two], free).homes
    assert homes[1] == Home((Slab(0, 700), Slab(1, 700)), 300)
    assert homes[0] == Home((Slab(0, 300),), 400)


def test_each_slab_takes_a_channel_in_a_phase() -> None:
    # Both are read in phase 3: one from each column; with one column the larger stays.
    one, other = tensor(0, 100, 2, 3), tensor(1, 200, 1, 3)
    assert {home.slabs[0].column for home in chosen([one, other]).homes.values()} == {0, 1}
    alone = [tensor(0, 100, 2, 3, columns=1), tensor(1, 200, 1, 3, columns=1)]
    found = chosen(alone)
    assert (list(found.homes), found.saved_bytes, found.bound_bytes) == ([1], 400, 600)


def test_all_together_take_no_longer() -> None:
    # 3 us are won by one: the one that loses 2 us may stay, those that lose 2 us more may not.
    won, lost, more = tensor(0, 10, 0, 1, late=-3e-6), tensor(1, 90, 1, 2, late=2e-6), tensor(2, 80, 2, 3, late=2e-6)
    assert set(chosen([won, lost, more]).homes) == {0, 1}
    assert chosen([lost]).homes == {}


def test_who_found_no_place_comes_first_next_time() -> None:
    # By what it saves the longest comes first, and leaves no room for the two that save more together.
    long, before, behind = tensor(0, 600, 0, 3), tensor(1, 500, 0, 1), tensor(2, 500, 2, 3)
    alone = [replace(one, places=((0,),)) for one in (long, before, behind)]
    free = replace(ROOM, needed={}, channels=dict.fromkeys(CHANNELS, 3))
    with patch.object(residency, "_MOST_CHOICES", 0):
        assert set(chosen(alone, free).homes) == {1, 2}


def test_a_tensor_stays_in_the_way_that_fits() -> None:
    fast, slow = tensor(0, 600, 0, 1, late=-2e-6, columns=1), tensor(0, 300, 0, 1, late=-1e-6, columns=1)
    other = tensor(1, 500, 0, 1, columns=1)
    free = replace(ROOM, needed={}, channels=dict.fromkeys(CHANNELS, 2))
    for most in (0, 5000):
        with patch.object(residency, "_MOST_CHOICES", most):
            assert choose_homes([[fast, slow]], free).ways == {0: fast}
            assert choose_homes([[fast, slow], [other]], free).ways == {0: slow, 1: other}


def test_of_ways_that_save_more_or_less_the_one_that_fits_best() -> None:
    # What phase 0 brings is found by two, what phase 1 brings by one; 500 bytes more leave room for the latter alone.
    early = replace(tensor(0, 600, 0, 1, 2, columns=1), saved_bytes=1200, moves=(), in_place=True, brought=True)
    late = replace(tensor(0, 600, 1, 2, columns=1), saved_bytes=600, moves=(), in_place=True, brought=True)
    other = tensor(1, 500, 0, 0, columns=1)
    free = replace(ROOM, needed={})
    for most in (0, 5000):
        with patch.object(residency, "_MOST_CHOICES", most):
            alone = choose_homes([[early, late]], free)
            assert (alone.ways, alone.saved_bytes, alone.bound_bytes) == ({0: early}, 1200, 1200)
            both = choose_homes([[early, late], [replace(other, saved_bytes=900)]], free)
            assert both.ways == {0: late, 1: replace(other, saved_bytes=900)}


def test_what_wins_more_time_stays_where_as_much_is_saved() -> None:
    # Both slabs of one tensor leave no channel for the other's: together they are fastest with one slab each.
    wide, narrow = (
        HomeCandidate(0, 100, 100, 0, (3,), 200, late, places, ((0, True), (3, False)))
        for late, places in ((-9e-6, ((0, 1),)), (-8e-6, ((0,), (1,))))
    )
    slow, fast = (
        replace(one, number=1, first=1, moves=((1, True), (3, False)), late_seconds=late)
        for one, late in ((narrow, -2e-6), (wide, -20e-6))
    )
    for most in (0, 5000):
        with patch.object(residency, "_MOST_CHOICES", most):
            assert choose_homes([[wide, narrow], [slow]], ROOM).ways == {0: narrow, 1: slow}
            assert choose_homes([[wide]], ROOM).ways == {0: wide}
            # 20 us are more than 9; what saves less, but not much, goes.
            assert choose_homes([[wide], [fast]], ROOM).ways == {1: fast}


def test_what_is_in_the_way_finds_another_place() -> None:
    """By what it wins alone, each takes the first place; the longest then keeps the others from theirs."""
    long = replace(tensor(0, 600, 0, 4, late=-3e-6), moves=())
    before, behind = (replace(tensor(n, 500, n, n + 1, late=-2e-6, columns=1), moves=()) for n in (1, 3))
    free = replace(ROOM, needed={}, byte_seconds=0.0)
    with patch.object(residency, "_MOST_CHOICES", 0), patch.object(residency, "_MOST_ORDERS", 1):
        found = choose_homes([[long], [before], [behind]], free)
    assert {number: home.slabs[0].column for number, home in found.homes.items()} == {0: 1, 1: 0, 3: 0}


def test_a_home_beside_others() -> None:
    one, other = tensor(0, 600, 0, 2, columns=1), tensor(1, 300, 1, 3, columns=2)
    assert home_beside(other, {one: Home((Slab(0, 400),), 600)}, ROOM) == Home((Slab(1, 700),), 300)
    assert home_beside(replace(other, places=((0,),)), {one: Home((Slab(0, 400),), 600)}, ROOM) is None


def test_pieces_are_dealt_out_in_turn() -> None:
    home = Home((Slab(4, 0), Slab(5, 100)), 8)
    assert list(home.pieces(20)) == [(0, 0, 8), (1, 0, 8), (0, 8, 4)]
    assert home.slab_bytes(20) == [12, 8]
    assert Home(home.slabs, 16).slab_bytes(20) == [16, 4]
    for count, piece, size in product((1, 2, 3, 5), (4, 7), range(0, 60, 3)):
        many, ends = Home((Slab(0, 0),) * count, piece), [0] * count
        for slab, place, own in many.pieces(size):
            ends[slab] = place + own
        assert many.slab_bytes(size) == ends


@st.composite
def candidates(draw: st.DrawFn) -> list[HomeCandidate]:
    found = []
    for number in range(draw(st.integers(1, 8))):
        first = draw(st.integers(0, 6))
        reads = draw(st.lists(st.integers(first + 1, 8), min_size=1, max_size=2, unique=True))
        late = draw(st.sampled_from((-1e-6, 0.0, 1e-6)))
        found.append(tensor(number, draw(st.integers(1, 900)), first, *reads, late=late))
    return found


@given(candidates(), st.booleans())
def test_any_homes_are_apart(tensors: list[HomeCandidate], is_searched: bool) -> None:
    with patch.object(residency, "_MOST_CHOICES", residency._MOST_CHOICES if is_searched else 0):
        found = chosen(tensors)
    assert sum(map(ROOM.gained, found.ways.values())) <= sum(map(ROOM.gained, chosen(tensors).ways.values())) + 1e-9
    stay = [(one, found.homes[one.number].slabs[0]) for one in tensors if one.number in found.homes]
    assert sum(one.saved_bytes for one, _ in stay) == found.saved_bytes <= found.bound_bytes
    assert sum(one.late_seconds for one, _ in stay) <= 1e-12
    for one, home in stay:
        for phase in range(one.first, one.last + 1):
            assert home.address >= ROOM.needed.get((phase, home.column), 0)
        assert home.address + one.slab_bytes <= ROOM.bytes
        for other, place in stay:
            if other is one or place.column != home.column or one.last < other.first or other.last < one.first:
                continue
            assert home.address + one.slab_bytes <= place.address or place.address + other.slab_bytes <= home.address


def test_what_stays_in_place_takes_no_channel_to_be_written() -> None:
    sent = HomeCandidate(0, 100, 100, 0, (1,), 100, 0.0, ((0,),), ((0, True), (1, False)))
    full = replace(ROOM, channels={way: 0 if way[2] else 1 for way in ROOM.channels})
    assert choose_homes([[sent]], full).homes == {}
    (home,) = choose_homes([[replace(sent, moves=((1, False),), in_place=True)]], full).homes.values()
    assert home.in_place
