"""Groups that take longer than what is estimated speaks for are tried otherwise, and stay so where that is faster."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

import npuflow
from npuflow.compiler import tries
from npuflow.compiler.compiled import Sequence
from npuflow.compiler.regroupings import Regrouping, regroupings
from npuflow.fusion import fuse_windows
from npuflow.network.partition import Members, Price, best_partition
from npuflow.ops.estimated import Estimates, Names

sys.path.insert(0, str(Path(__file__).parent))
from window_chains import Window, chain

SIX = chain(24, 8, *[Window(channels=8)] * 6)


def took(seconds: Mapping[tuple[str, ...], float]) -> Sequence:
    """A sequence whose parts, of such groups, end one after the other."""
    ends, phases = 70.0, []
    for own in seconds.values():
        ends += own
        phases.append(SimpleNamespace(launch_us=70.0, end_us=ends))
    calls = tuple(SimpleNamespace(made_of=groups) for groups in seconds)
    return SimpleNamespace(  # type: ignore[return-value]
        changes=(None,),
        timed=phases,
        seconds=ends * 1e-6,
        compiled=SimpleNamespace(calls=SimpleNamespace(calls=calls)),
        device=SimpleNamespace(control=SimpleNamespace(launch_seconds=70e-6)),
    )


def estimated(seconds: Mapping[tuple[str, ...], float]) -> dict[Names, Estimates]:
    """By both estimates alike, as the second one is of twice as much."""
    return {frozenset(names): (each * 1e-6, each * 2e-6) for names, each in seconds.items()}


def named(*names: str) -> Names:
    return frozenset(names)


def apart(*names: str) -> Regrouping:
    return Regrouping(frozenset({frozenset(names)}), frozenset(), 1e-6, "they are slower")


def as_one(*names: str) -> Regrouping:
    return Regrouping(frozenset(), frozenset({frozenset(names)}), 1e-6, "they are slower")


ALONE = {("f_0",): 20.0, ("f_1",): 20.0, ("f_2",): 40.0, ("f_3",): 40.0}


def test_what_takes_its_share_of_its_estimate_stays() -> None:
    parts = {("f_0", "f_1"): 15.0, ("f_2",): 20.0, ("f_3",): 20.0}
    assert regroupings(took(parts), estimated({**ALONE, ("f_0", "f_1"): 30.0})) == ()


def test_one_that_takes_longer_than_its_groups_might_is_apart() -> None:
    parts = {("f_0", "f_1", "cached"): 30.0, ("f_2",): 20.0, ("f_3",): 20.0}
    (found,) = regroupings(took(parts), estimated({**ALONE, ("f_0", "f_1"): 38.0}))
    assert found == apart("f_0", "f_1")
    assert found.seconds == pytest.approx(30e-6 - 40e-6 * 70 / 118)


def test_groups_that_take_longer_than_one_might_are_one() -> None:
    parts = {("f_0",): 30.0, ("f_1",): 30.0, ("f_2",): 20.0, ("f_3",): 20.0}
    (found,) = regroupings(took(parts), estimated({**ALONE, ("f_0", "f_1"): 50.0, ("f_2", "f_3"): 79.0}))
    assert found == as_one("f_0", "f_1")


def test_what_takes_least_time_together_is_one() -> None:
    """Two pairs of four in a row take less than the pair in the middle, which gains most by itself."""
    parts = {("f_0",): 30.0, ("f_1",): 30.0, ("f_2",): 30.0, ("f_3",): 30.0}
    more = {("f_0", "f_1"): 45.0, ("f_1", "f_2"): 35.0, ("f_2", "f_3"): 45.0}
    found = regroupings(took(parts), estimated({**ALONE, **more}))
    assert {*found} == {as_one("f_0", "f_1"), as_one("f_2", "f_3")}


def test_one_estimate_that_speaks_for_a_change_is_enough() -> None:
    parts = {("f_0",): 30.0, ("f_1",): 30.0, ("f_2",): 20.0, ("f_3",): 20.0}
    both = estimated({**ALONE, ("f_0", "f_1"): 90.0})
    assert not regroupings(took(parts), both)
    high, _ = both[named("f_0", "f_1")]
    (found,) = regroupings(took(parts), {**both, named("f_0", "f_1"): (high, high)})
    assert found == as_one("f_0", "f_1")


def test_what_has_to_change_together_is_one_change() -> None:
    """A group that was one with another becomes one with a third, which some estimate speaks for by far."""
    parts = {("f_0", "f_1"): 60.0, ("f_2",): 40.0, ("f_3",): 30.0}
    more = {("f_0", "f_1"): 60.0, ("f_1", "f_2"): 30.0}
    (found,) = regroupings(took(parts), estimated({**ALONE, **more}))
    assert found == Regrouping(frozenset({named("f_0", "f_1")}), frozenset({named("f_1", "f_2")}), 0.0, "")
    assert found.groups == named("f_0", "f_1", "f_2")


def made_of(compiled: npuflow.Compiled) -> list[tuple[str, ...]]:
    (sequence,) = compiled.sequences
    return [call.made_of for call in sequence.compiled.calls.calls]


def found_first(monkeypatch: pytest.MonkeyPatch, changes: tuple[Regrouping, ...]) -> None:
    """The first compilation of a function is followed by such changes, and these by none."""
    left = [changes]
    monkeypatch.setattr(tries, "regroupings", lambda *_: left.pop() if left else ())


def test_what_is_slower_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    before = npuflow.compile(SIX, device="npu2", split=True, disable="tries")
    fused = next(groups for groups in made_of(before) if len(groups) > 1)
    found_first(monkeypatch, (apart(*fused),))
    after = npuflow.compile(SIX, device="npu2", split=True)
    assert made_of(after) == made_of(before)
    assert after.sequences[0].seconds == before.sequences[0].seconds


def test_what_is_faster_is_taken_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, partitions = npuflow.compile(SIX, device="npu2", split=True, disable="tries"), []
    fused = next(groups for groups in made_of(whole) if len(groups) > 1)

    def apart_at_first(count: int, prices: Mapping[Members, Price]) -> list[Members]:
        alone = {members: price for members, price in prices.items() if partitions or len(members) == 1}
        partitions.append(list(best_partition(count, alone)))
        return partitions[-1]

    monkeypatch.setattr(fuse_windows, "best_partition", apart_at_first)
    found_first(monkeypatch, (as_one(*fused),))
    after = npuflow.compile(SIX, device="npu2", split=True)
    assert fused in made_of(after)
    assert len(partitions) == 2
    assert after.run(verify=True).ok
