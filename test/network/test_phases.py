"""What changes from one phase of a launch to the next: by hand, and whatever the phases are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.errors import UsageError
from npuflow.network.changes import changes_between
from npuflow.network.decisions import ALL_DECISIONS, Decision, decisions_without
from npuflow.network.phases import NO_WRITES, PhaseSetup, Piece, Store, StoreKind, Tile, TileChange, Writes
from npuflow.network.set_up import NOTHING, PhaseChange, TaskWrites, Waiting, whole_change
from npuflow.network.streams import Differs, streams
from npuflow.target import load_device

CHANNELS = Store(StoreKind.DESCRIPTORS, "core dma", 1, 0, 0, room=16)
CORE = Store(StoreKind.PROGRAMS, "core", 1, 0, 0, room=1000)
DATA = Store(StoreKind.PARAMETERS, "core", 1, 0, 0, room=3)


def phase(name: str, descriptors: int = 0, program: int = 0) -> PhaseSetup:
    """One channel's descriptors and one core's program, in one tile."""
    found = {CHANNELS: (Piece(name, descriptors),)} if descriptors else {}
    return {**found, **({CORE: (Piece(name, program),)} if program else {})}


def between(*setups: PhaseSetup, without: Sequence[str] = ()) -> list[TileChange]:
    """What changes in the tile, phase by phase."""
    changes = changes_between(setups, decisions_without(without))
    return [change.changes[0] if change.changes else TileChange() for change in changes]


def test_what_follows_itself_is_in_place() -> None:
    a = phase("a", 6, 400)
    assert changes_between([a, a, a]) == (PhaseChange(may_send=True, may_prepare=True),) * 2
    assert changes_between([a, a], frozenset()) == (PhaseChange(may_load=False),)


def test_what_fits_beside_each_other_is_there_from_the_start() -> None:
    # 6 + 8 of 16 descriptors and 400 + 600 of 1000 bytes: going to and fro only starts a channel.
    a, b = phase("a", 6, 400), phase("b", 8, 600)
    assert between(a, b, a, b) == [TileChange(Writes(starts=1))] * 3
    # One byte more, and the core is loaded each time.
    b = phase("b", 8, 601)
    assert [change.loads for change in between(a, b, a, b)] == [True] * 3


def test_descriptors_are_written_ahead_into_free_ones() -> None:
    # Beside a's 6 and b's 8 there are 2 left; c's 5 can't all be there from the start, but beside b's 8 while b works.
    a, b, c = phase("a", 6), phase("b", 8), phase("c", 5)
    assert between(a, b, c) == [TileChange(Writes(starts=1)), TileChange(Writes(descriptors=5))]
    # Nothing is free beside 13 of 16: the writes come behind the phase.
    wide = phase("wide", 13)
    assert between(wide, c) == [TileChange(behind=Writes(descriptors=5))]


def test_without_decisions_all_is_written_behind() -> None:
    a, b = phase("a", 6, 400), phase("b", 8, 600)
    assert changes_between([a, b, a], frozenset()) == (whole_change(b), whole_change(a))
    assert whole_change(b) == PhaseChange((TileChange(behind=Writes(8), program_bytes=600),), may_load=False)
    # Kept, they are only started, but not before the phase before is done.
    assert between(a, b, a, without=["ahead"]) == [TileChange(behind=Writes(starts=1))] * 2


def test_of_what_is_kept_the_soonest_stays() -> None:
    # a, then b and c by turns: when c's 7 come, a's 3 and not b's 8 make room for them.
    a, b, c = phase("a", 3), phase("b", 8), phase("c", 7)
    assert [(change.ahead + change.behind).descriptors for change in between(a, b, c, b, c)] == [0, 7, 0, 0]


def test_a_core_is_loaded_as_seldom_as_can_be() -> None:
    a, b, c = (phase(name, program=400) for name in "abc")
    # Two of three fit: a b | c, and c stays for the next.
    assert [change.loads for change in between(a, b, c, c, b)] == [False, True, False, False]


def test_kernels_that_programs_share_are_there_once() -> None:
    # Steps of 200 bytes each and a kernel of 600: two programs are 1000 bytes, not 1600.
    one, other = ({CORE: (Piece("kernel", 600), Piece(name, 200))} for name in "ab")
    assert [change.program_bytes for change in between(one, other)] == [0]
    assert [change.program_bytes for change in between(one, other, without=["keeping"])] == [800]


def test_parameters_are_written_like_descriptors_and_not_started() -> None:
    # Room for 3: a's and b's one each are there from the start, c's two come into the place of a's.
    a, b, c = ({DATA: (Piece(name, size),)} for name, size in (("a", 1), ("b", 1), ("c", 2)))
    assert between(a, b, c) == [TileChange(), TileChange(Writes(parameters=2))]
    assert Writes(parameters=2).seconds(CONTROL) == pytest.approx(2e-7)


def test_stores_of_a_tile_change_together() -> None:
    # Another group of the same memory, and the memory of another tile.
    group, elsewhere = replace(CHANNELS, group=1), replace(CHANNELS, column=1)
    before = {CHANNELS: (Piece("a", 10),), group: (Piece("a", 10),), elsewhere: (Piece("a", 10),)}
    after = {CHANNELS: (Piece("b", 8),), group: (Piece("b", 4),), elsewhere: (Piece("b", 4),)}
    (change,) = changes_between([before, after], decisions_without(["keeping"]))
    assert change.changes == (TileChange(Writes(4), Writes(8)), TileChange(Writes(4), columns=frozenset({1})))


CONTROL = replace(load_device("toy").control, descriptor_seconds=1e-6, start_seconds=1e-7, program_seconds=1e-5)


def test_what_is_written_ahead_takes_time_where_nobody_waits() -> None:
    change = PhaseChange((TileChange(Writes(10, 5), Writes(2)), TileChange(program_bytes=100)))
    # 10.5 us ahead, of which 4 fit into the waits; 2 us of descriptors behind, and 10 us for a program.
    done = change.set_up(CONTROL, Waiting(4e-6))
    assert (done.writes, done.loads) == (Writes(12, 5), 1)
    assert done.seconds == pytest.approx(6.5e-6 + 2e-6 + 10e-6)
    assert change.set_up(CONTROL, Waiting(1.0)).seconds == pytest.approx(12e-6)
    assert PhaseChange().set_up(CONTROL) == NOTHING


def test_tiles_are_loaded_where_that_is_faster() -> None:
    # 11 us behind: the tile is loaded in 10. Without waits so is the one with 12 us ahead, not the one with 9.
    tiles = (TileChange(behind=Writes(11)), TileChange(Writes(12)), TileChange(Writes(9)))
    done = PhaseChange(tiles).set_up(CONTROL)
    assert (done.loads, done.writes, done.seconds) == (2, Writes(9), pytest.approx(29e-6))
    # 5 us of waits are for the smaller one; 21 us are enough for both.
    assert PhaseChange(tiles).set_up(CONTROL, Waiting(5e-6)).seconds == pytest.approx(24e-6)
    assert PhaseChange(tiles).set_up(CONTROL, Waiting(21e-6)).seconds == pytest.approx(10e-6)
    # A tile that is loaded for its program has its descriptors with it.
    assert PhaseChange((TileChange(behind=Writes(3), program_bytes=100),)).set_up(CONTROL).seconds == pytest.approx(
        10e-6
    )
    # Not where that is decided otherwise, or where the device doesn't say how long loading takes.
    assert PhaseChange(tiles, may_load=False).set_up(CONTROL).seconds == pytest.approx(32e-6)
    silent = replace(CONTROL, program_seconds=0.0)
    assert PhaseChange(tiles).set_up(silent).seconds == pytest.approx(32e-6)


def test_control_packets_go_through_columns_side_by_side() -> None:
    # A stream of packets each, 3 us; 2 x 3200 bytes in column 0 and 6400 in column 1 take as long as one of them.
    control = replace(CONTROL, packet_seconds=3e-6, packet_bytes_per_second=1e9)
    tiles = tuple(
        TileChange(program_bytes=size, columns=frozenset({column}))
        for size, column in ((3200, 0), (3200, 0), (6400, 1))
    )
    assert PhaseChange(tiles).set_up(control).seconds == pytest.approx(9e-6 + 6.4e-6)
    # Descriptors come along, 32 bytes each, and alone where that takes less than to write them: 3.32 us for 10.
    with_some = TileChange(ahead=Writes(10), program_bytes=3200)
    assert PhaseChange((with_some,)).set_up(control).seconds == pytest.approx(3e-6 + 3.52e-6)
    assert PhaseChange((TileChange(behind=Writes(10)),)).set_up(control).seconds == pytest.approx(3.32e-6)
    assert PhaseChange((TileChange(behind=Writes(3)),)).set_up(control).seconds == pytest.approx(3e-6)


def test_what_nobody_uses_comes_as_packets_ahead_where_a_shim_has_a_channel_left() -> None:
    control = replace(CONTROL, packet_seconds=3e-6, packet_bytes_per_second=1e9)
    tiles = (TileChange(Writes(10)), TileChange(Writes(10), columns=frozenset({1})), TileChange(Writes(2)))
    # 2 us are written, 3.32 us sent to column 0 meanwhile; column 1 has no channel left, and is loaded behind.
    done = PhaseChange(tiles, may_send=True).set_up(control, Waiting(6e-6, frozenset({0})))
    assert (done.ahead, done.sent, done.loads, done.seconds) == (Writes(2), 1, 2, pytest.approx(3.32e-6))
    # Tasks beside column 0's shim come with what is sent there.
    assert done.left.reached == {0}
    # Without packets ahead, nothing is sent.
    assert PhaseChange(tiles).set_up(control, Waiting(6e-6, frozenset({0}))).sent == 0


def test_what_many_tiles_get_is_one_stream() -> None:
    # Written one by one in 32 tiles, or sent to all at once: a stream whose bytes each column gets.
    control = replace(CONTROL, packet_seconds=3e-6, packet_bytes_per_second=1e9)
    change = TileChange(behind=Writes(10), columns=frozenset(range(8)), tiles=32)
    done = PhaseChange((change,)).set_up(control)
    assert (done.loads, done.seconds) == (32, pytest.approx(3.32e-6))
    assert PhaseChange((change,), may_load=False).set_up(control).seconds == pytest.approx(320e-6)
    # Ahead through the shim of any of the columns.
    ahead = PhaseChange((replace(change, ahead=Writes(10), behind=Writes()),), may_send=True)
    assert ahead.set_up(control, Waiting(6e-6, frozenset({5}))).sent == 32
    assert ahead.set_up(control, Waiting(6e-6)).sent == 0


def test_packets_behind_a_phase_are_only_started_where_their_task_is_written_ahead() -> None:
    # Two streams of 3 us and 3.2 us of bytes side by side: both begin with a start of 0.1 us where 6 us are waits.
    control = replace(CONTROL, packet_seconds=3e-6, packet_bytes_per_second=1e9)
    change = PhaseChange(
        tuple(TileChange(program_bytes=3200, columns=frozenset({c})) for c in range(2)), may_prepare=True
    )
    waiting = Waiting(7e-6, descriptors={0: 1, 1: 1})
    done = change.set_up(control, waiting)
    assert done.seconds == pytest.approx(0.2e-6 + 3.2e-6)
    assert (done.left.seconds, done.left.descriptors) == (pytest.approx(1e-6), {0: 0, 1: 0})
    # One of them, where waits or descriptors end; none where that is decided otherwise.
    assert change.set_up(control, replace(waiting, seconds=5e-6)).seconds == pytest.approx(3.1e-6 + 3.2e-6)
    assert change.set_up(control, replace(waiting, descriptors={0: 1})).seconds == pytest.approx(3.1e-6 + 3.2e-6)
    assert replace(change, may_prepare=False).set_up(control, waiting).seconds == pytest.approx(6e-6 + 3.2e-6)
    # Where packets may come ahead, those to a column's shim bring all tasks that bring packets to the column.
    twice = replace(change, changes=(*change.changes, change.changes[0]), may_send=True)
    both = Waiting(6e-6, frozenset({0, 1}), descriptors={0: 2, 1: 1})
    assert twice.set_up(control, both).seconds == pytest.approx(0.3e-6 + 6.4e-6)
    assert twice.set_up(control, both).left.reached == {0, 1}
    # Descriptors that hold tasks of later phases aren't free for that.
    held = replace(change, tasks=TaskWrites(1, 0.0, {0: 1}))
    assert held.set_up(control, waiting).seconds == pytest.approx(3.1e-6 + 3.2e-6)
    # What was to be written behind comes so as well: 0.1 and 0.032 us, not 1 us.
    small = replace(change, changes=(TileChange(behind=Writes(1)),))
    assert small.set_up(control, waiting).seconds == pytest.approx(0.132e-6)


def test_nothing_is_written_ahead_where_tasks_that_bring_packets_need_the_waits_more() -> None:
    # 6 of 7 us of waits are enough to write one tile's, but then both others' packets begin with 3 us, not 0.1.
    control = replace(CONTROL, packet_seconds=3e-6, packet_bytes_per_second=1e9)
    tiles = tuple(TileChange(Writes(count), columns=frozenset({c})) for c, count in enumerate((6, 20, 20)))
    waiting = Waiting(7e-6, descriptors={0: 1, 1: 1, 2: 1})
    done = PhaseChange(tiles, may_prepare=True).set_up(control, waiting)
    assert (done.loads, done.ahead, done.seconds) == (3, NO_WRITES, pytest.approx(3.2e-6 + 0.64e-6))
    # Where they come without such tasks, or not at all, it is.
    assert PhaseChange(tiles).set_up(control, waiting).ahead == Writes(6)
    assert PhaseChange(tiles[:1], may_prepare=True).set_up(control, waiting).ahead == Writes(6)


def test_tasks_ahead_take_what_is_left_of_the_waits() -> None:
    change = PhaseChange((TileChange(Writes(2)),), tasks=TaskWrites(4, 4e-6))
    done = change.set_up(CONTROL, Waiting(7e-6))
    assert (done.tasks, done.seconds, done.left.seconds) == (4, 0, pytest.approx(1e-6))
    assert change.set_up(CONTROL, Waiting(5e-6)).seconds == pytest.approx(1e-6)


def test_tasks_that_come_first_leave_the_rest_of_the_waits() -> None:
    # What differs takes 2 us one by one: with 3 us left all of it is written ahead, with 1 us the other waits.
    change = PhaseChange((TileChange(Writes(2)),), may_load=False, tasks=TaskWrites(4, 4e-6, first=True))
    done = change.set_up(CONTROL, Waiting(7e-6))
    assert (done.tasks, done.seconds, done.left.seconds) == (4, 0, pytest.approx(1e-6))
    assert change.set_up(CONTROL, Waiting(5e-6)).seconds == pytest.approx(1e-6)
    # All of it, and of the tasks what there was no time for.
    late = change.set_up(CONTROL, Waiting(3e-6))
    assert (late.seconds, late.left.seconds) == (pytest.approx(1e-6 + 2e-6), 0)


def cores(rows: int, columns: int) -> list[Store]:
    return [replace(CORE, row=row, column=column) for row in range(rows) for column in range(columns)]


def test_cores_are_loaded_with_what_any_of_them_runs() -> None:
    # Four cores work, then one of them: all get both programs at once, and none is loaded again.
    start, wide, alone = (
        {core: (Piece(n, s),) for core in cores(2, 2)} for n, s in (("s", 900), ("w", 600), ("a", 400))
    )
    one = {CORE: alone[CORE]}
    first, second = changes_between([start, wide, one], columns=2)
    assert first.changes == (TileChange(program_bytes=1000, columns=frozenset({0, 1}), tiles=4),)
    assert second.changes == ()
    # Without that, the three others are loaded with the one program only.
    first, _ = changes_between([start, wide, one], decisions_without(["broadcast"]), columns=2)
    assert sorted(change.program_bytes for change in first.changes) == [600, 600, 600, 1000]
    # What runs at the same time doesn't fit as one: each has its own.
    apart = {CORE: (Piece("x", 900),), **{core: (Piece("y", 900),) for core in cores(2, 2)[1:]}}
    (change,) = changes_between([start, apart], columns=2)
    assert sorted((one.tiles, min(one.columns)) for one in change.changes) == [(1, 0), (1, 0), (2, 1)]


def test_streams_reach_tiles_of_a_column_or_the_same_rows_of_all() -> None:
    same = Differs(TileChange(Writes(4)), frozenset({Piece("p", 4)}))
    other = replace(same, pieces=frozenset({Piece("q", 4)}))

    def reached(differing: dict[Tile, Differs], columns: int = 3) -> list[tuple[int, list[int]]]:
        return sorted((one.tiles, sorted(one.columns)) for one in streams({}, differing, columns))

    row = {(1, 0, column): same for column in range(3)}
    assert reached(row) == [(3, [0, 1, 2])]
    assert reached(row, 4) == [(1, [0]), (1, [1]), (1, [2])], "not all columns"
    assert reached({**row, (1, 1, 0): same}) == [(1, [1]), (1, [2]), (2, [0])], "other rows"
    assert reached({**row, (1, 0, 0): other}) == [(1, [0]), (1, [1]), (1, [2])]
    assert reached({**row, (2, 0, 0): same}) == [(1, [0]), (3, [0, 1, 2])], "another level"
    # A program for the same tiles comes in the same stream.
    program = Differs(TileChange(program_bytes=64), frozenset({Piece("r", 64)}))
    (both,) = streams(dict.fromkeys(row, program), row, 3)
    assert both == TileChange(Writes(4), program_bytes=64, columns=frozenset(range(3)), tiles=3)


def test_decisions_have_names() -> None:
    assert decisions_without([]) == ALL_DECISIONS
    assert decisions_without(["phases", "ahead"]) == ALL_DECISIONS - {Decision.PHASES, Decision.AHEAD}
    with pytest.raises(UsageError, match="unknown decision 'fases'; hint: did you mean phases"):
        decisions_without(["fases"])


NAMES = st.sampled_from("abcdef")


@given(st.lists(NAMES, min_size=1, max_size=12), st.fixed_dictionaries({n: st.integers(1, 16) for n in "abcdef"}))
def test_any_phases(order: list[str], sizes: dict[str, int]) -> None:
    setups = [phase(name, sizes[name], 60 * sizes[name]) for name in order]
    best = between(*setups)
    for (before, after), change, plain in zip(pairwise(order), best, changes_between(setups, frozenset())):
        # All that the next phase needs is written, started or loaded, and never more than that.
        whole = whole_change(phase(after, sizes[after], 60 * sizes[after]))
        assert plain == (PhaseChange(may_load=False) if before == after else whole)
        written = change.ahead + change.behind
        assert written.descriptors + written.starts * sizes[after] == (0 if before == after else sizes[after])
        # Ahead is only what has room beside the phase before.
        assert change.ahead.descriptors == 0 or sizes[before] + change.ahead.descriptors <= 16
        assert not (change.loads and before == after)


def test_descriptors_more_come_with_what_differs_in_their_tile() -> None:
    own = TileChange(Writes(2), columns=frozenset({1}))
    shared = TileChange(Writes(1), columns=frozenset({0, 1}), tiles=8)
    loaded = TileChange(program_bytes=100, columns=frozenset({2}))
    change = PhaseChange((shared, own, loaded)).with_descriptors({1: 3, 2: 1, 3: 1, 4: 0})
    alike = TileChange(Writes(1), columns=frozenset({2, 3}), tiles=2)
    assert change.changes == (shared, replace(own, ahead=Writes(5)), loaded, alike)
    assert PhaseChange((own,)).with_descriptors({}) == PhaseChange((own,))
