"""What changes from one phase of a launch to the next: by hand, and whatever the phases are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.errors import UsageError
from npuflow.network.decisions import ALL_DECISIONS, Decision, decisions_without
from npuflow.network.phases import (
    NO_CHANGE,
    PhaseChange,
    PhaseSetup,
    Piece,
    Store,
    StoreKind,
    Writes,
    changes_between,
    whole_change,
)
from npuflow.target import load_device

CHANNELS = Store(StoreKind.DESCRIPTORS, "core dma", 0, 0, room=16)
CORE = Store(StoreKind.PROGRAMS, "core", 0, 0, room=1000)


def phase(name: str, descriptors: int = 0, program: int = 0) -> PhaseSetup:
    """One channel's descriptors and one core's program."""
    found = {CHANNELS: (Piece(name, descriptors),)} if descriptors else {}
    return {**found, **({CORE: (Piece(name, program),)} if program else {})}


def test_what_follows_itself_is_in_place() -> None:
    a = phase("a", 6, 400)
    assert changes_between([a, a, a]) == (NO_CHANGE, NO_CHANGE)
    assert changes_between([a, a], frozenset()) == (NO_CHANGE,)


def test_what_fits_beside_each_other_is_there_from_the_start() -> None:
    # 6 + 8 of 16 descriptors and 400 + 600 of 1000 bytes: going to and fro only starts a channel.
    a, b = phase("a", 6, 400), phase("b", 8, 600)
    assert changes_between([a, b, a, b]) == (PhaseChange(Writes(starts=1)),) * 3
    # One byte more, and the core is loaded each time.
    b = phase("b", 8, 601)
    assert [change.programs for change in changes_between([a, b, a, b])] == [1, 1, 1]


def test_descriptors_are_written_ahead_into_free_ones() -> None:
    # Beside a's 6 and b's 8 there are 2 left; c's 5 can't all be there from the start, but beside b's 8 while b works.
    a, b, c = phase("a", 6), phase("b", 8), phase("c", 5)
    assert changes_between([a, b, c]) == (PhaseChange(Writes(starts=1)), PhaseChange(Writes(descriptors=5)))
    # Nothing is free beside 13 of 16: the writes come behind the phase.
    wide = phase("wide", 13)
    assert changes_between([wide, c]) == (PhaseChange(behind=Writes(descriptors=5)),)


def test_without_decisions_all_is_written_behind() -> None:
    a, b = phase("a", 6, 400), phase("b", 8, 600)
    assert changes_between([a, b, a], frozenset()) == (whole_change(b), whole_change(a))
    assert whole_change(b) == PhaseChange(behind=Writes(8), programs=1)
    # Kept, they are only started, but not before the phase before is done.
    kept = decisions_without(["ahead"])
    assert changes_between([a, b, a], kept) == (PhaseChange(behind=Writes(starts=1)),) * 2


def test_of_what_is_kept_the_soonest_stays() -> None:
    # a, then b and c by turns: when c's 7 come, a's 3 and not b's 8 make room for them.
    a, b, c = phase("a", 3), phase("b", 8), phase("c", 7)
    written = [change.writes.descriptors for change in changes_between([a, b, c, b, c])]
    assert written == [0, 7, 0, 0]


def test_a_core_is_loaded_as_seldom_as_can_be() -> None:
    a, b, c = (phase(name, program=400) for name in "abc")
    # Two of three fit: a b | c, and c stays for the next.
    assert [change.programs for change in changes_between([a, b, c, c, b])] == [0, 1, 0, 0]


def test_seconds_are_those_of_the_control_processor_and_of_loading() -> None:
    control = replace(load_device("toy").control, descriptor_seconds=1e-6, start_seconds=1e-7, program_seconds=1e-5)
    change = PhaseChange(Writes(10, 5), Writes(2), 3)
    # 10.5 us ahead, of which 4 fit into the waits; 2 us of descriptors and 30 us of programs behind.
    assert change.seconds(control, 4e-6) == pytest.approx(6.5e-6 + 2e-6 + 30e-6)
    assert change.seconds(control, 1.0) == pytest.approx(32e-6)
    assert NO_CHANGE.seconds(control) == 0


def test_decisions_have_names() -> None:
    assert decisions_without([]) == ALL_DECISIONS
    assert decisions_without(["phases", "ahead"]) == ALL_DECISIONS - {Decision.PHASES, Decision.AHEAD}
    with pytest.raises(UsageError, match="unknown decision 'fases'; hint: did you mean phases"):
        decisions_without(["fases"])


NAMES = st.sampled_from("abcdef")


@given(st.lists(NAMES, min_size=1, max_size=12), st.fixed_dictionaries({n: st.integers(1, 16) for n in "abcdef"}))
def test_any_phases(order: list[str], sizes: dict[str, int]) -> None:
    setups = [phase(name, sizes[name], 60 * sizes[name]) for name in order]
    best = changes_between(setups)
    for (before, after), change, plain in zip(pairwise(order), best, changes_between(setups, frozenset())):
        # All that the next phase needs is written, started or loaded, and never more than that.
        assert plain == (NO_CHANGE if before == after else whole_change(phase(after, sizes[after], 1)))
        assert change.writes.descriptors + change.writes.starts * sizes[after] <= plain.writes.descriptors
        # Ahead is only what has room beside the phase before.
        assert change.ahead.descriptors == 0 or sizes[before] + change.ahead.descriptors <= 16
        assert change.programs <= plain.programs
