"""Phases that find their first tasks set up: shorter, right, and never at the cost of what goes on between them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.network.decisions import ALL_DECISIONS, Decision

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program


@pytest.fixture(scope="module")
def compiled() -> npuflow.Compiled:
    """Layers of which all but the first are alike, so that parts are called again."""
    p = Program("layers")
    x = p.norm(p.matmul(p.argument(32, 96), p.argument(96, 64)), p.argument(64))
    for _ in range(3):
        x = p.norm(p.matmul(x, p.argument(64, 64)), p.argument(64))
    return npuflow.compile(p.text(x), "npuflow-stream-k{fuse=false}", device="npu2", split=True)


def test_phases_are_shorter_and_results_right(compiled: npuflow.Compiled) -> None:
    (sequence,) = compiled.sequences
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.TASKS})
    assert all(part.compiled.tasks is None for part in apart.parts)
    before, after = (sum(run.cycles for run in one.simulate()) for one in (apart, sequence))
    assert after < before
    # And back again.
    assert apart.with_decided(ALL_DECISIONS).changes == sequence.changes


def test_what_is_set_up_fits_into_the_waits(compiled: npuflow.Compiled) -> None:
    (sequence,) = compiled.sequences
    (shown,) = compiled.run(verify=False).sequences
    assert sequence.parts[0].compiled.tasks is None, "a launch has nothing in front of it"
    assert sequence.changes is not None
    begun = [change.tasks.descriptors for change in sequence.changes]
    assert sum(begun) > 0
    ready = [part.compiled.tasks for part in sequence.parts[1:]]
    assert begun == [0 if tasks is None else tasks.writes.descriptors for tasks in ready]
    for before, change, phase in zip(shown.parts, sequence.changes, shown.phases[1:]):
        assert change.tasks.seconds + phase.set_up.left.seconds <= before.waiting.seconds + 1e-12
        # What is written ahead lies beside all that the phase before needs, in each column.
        assert min(phase.set_up.left.descriptors.values()) >= 0
        held = change.tasks.held
        assert all(before.waiting.descriptors[column] >= count for column, count in held.items())
    written = sum(change.tasks.seconds for change in sequence.changes)
    assert written == pytest.approx(sum(tasks.writes.seconds for tasks in ready if tasks is not None))
    assert f"{sum(begun)} descriptors of tasks ahead" in compiled.run(verify=False).text()


def test_without_ahead_nothing_is_set_up(compiled: npuflow.Compiled) -> None:
    (sequence,) = compiled.sequences
    for left_out in (Decision.AHEAD, Decision.PHASES):
        apart = sequence.with_decided(ALL_DECISIONS - {left_out})
        assert all(part.compiled.tasks is None for part in apart.parts)
        assert not any(change.tasks.descriptors or change.may_prepare for change in apart.changes or ())
