"""Buffers of a core have two semaphores each while locks last, and are handed over together when there are too few."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import npuflow
from npuflow.schedule.check.capacity import lacks_locks
from npuflow.schedule.data.model import Acquire, Each, Engine, Receive, Release, Repeat, Schedule, Step
from npuflow.target import load_device
from npuflow.testing.operator_rows import Elementwise, Pairwise
from npuflow.testing.programs import Types

DEVICE = load_device("npu1")


def schedule_of(inputs: int, rows: int = 32) -> Schedule:
    program = Elementwise((rows, 48), ((0, 1),) * inputs, Pairwise.ADD, Types("i32", "i32"))
    (function,) = npuflow.compile(program.text(), device=DEVICE.name).functions
    return function.compiled.schedule


def steps_of(steps: Sequence[Step]) -> list[Step]:
    """All steps but loops, in order."""
    return [inner for step in steps for inner in (steps_of(step.body) if isinstance(step, (Each, Repeat)) else [step])]


def engines(schedule: Schedule, stage: str) -> list[Engine]:
    return [engine for engine in schedule.engines.values() if engine.stage.name == stage]


@pytest.mark.parametrize("inputs", [2, 7])
def test_buffers_have_semaphores_of_their_own(inputs: int) -> None:
    schedule = schedule_of(inputs)
    (core,) = engines(schedule, "core")
    assert sum(isinstance(step, Acquire) for step in steps_of(core.program)) == inputs + 1
    assert sum(isinstance(step, Release) for step in steps_of(core.program)) == inputs + 1


@pytest.mark.parametrize("inputs", [8, 11])
def test_a_lane_hands_over_all_of_its_buffers_at_once(inputs: int) -> None:
    schedule = schedule_of(inputs)
    assert not lacks_locks(schedule, DEVICE)
    (core,) = engines(schedule, "core")
    lanes = engines(schedule, "core_in")
    assert len(lanes) == 2
    assert sum(isinstance(step, Acquire) for step in steps_of(core.program)) == len(lanes) + 1
    for lane in lanes:
        kinds = [type(step) for step in steps_of(lane.program)]
        assert kinds == [Acquire, *[Receive] * (len(kinds) - 2), Release]
    assert sum(isinstance(step, Receive) for lane in lanes for step in steps_of(lane.program)) == inputs


def test_what_one_op_makes_for_the_next_is_not_handed_over_with_its_result() -> None:
    """Two ops in one schedule, their results filled by one engine right after each other: together they would wait."""
    schedule = schedule_of(13, rows=16)
    (results,) = engines(schedule, "result_out")
    acquired = [step.semaphore.name for step in steps_of(results.program) if isinstance(step, Acquire)]
    of_buffers = [name for name in acquired if schedule.semaphores[name].cause == "data"]
    assert len(set(of_buffers)) == 2
