"""What a channel beside DRAM does is told apart task by task, loops written out."""

from __future__ import annotations

import pytest

from npuflow.simulate.channel_tasks import NotTaskByTaskError, steps_of, tasks_of, unrolled
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatEngine,
    FlatLoop,
    FlatRelease,
    FlatSend,
    FlatStep,
)

TAKE, GIVE = FlatAcquire("task"), FlatRelease("room")


def channel(*body: FlatStep) -> FlatEngine:
    return FlatEngine("shim out 0", body)


def send(*coefficients: int) -> FlatSend:
    return FlatSend("s", FlatAccess("x", (4,), (1,), 1, offset=FlatAffine(100, coefficients)))


def test_an_engine_is_written_out_once() -> None:
    engine = channel(FlatLoop(3, (TAKE, send(64), GIVE)))
    assert steps_of(engine) == tuple(unrolled(engine.body))
    assert steps_of(engine) is steps_of(engine)
    assert tasks_of(engine) is tasks_of(engine)


def test_transfers_know_where_they_read_in_every_turn() -> None:
    inner = FlatLoop(3, (send(64, 4),))
    tasks = list(tasks_of(channel(FlatLoop(2, (TAKE, inner, GIVE)))))
    offsets = [[one.access.offset.constant for one in task.transfers] for task in tasks]
    assert offsets == [[100, 104, 108], [164, 168, 172]]
    assert all(not one.access.offset.coefficients for task in tasks for one in task.transfers)


def test_what_moves_outside_of_a_task_is_refused() -> None:
    with pytest.raises(NotTaskByTaskError, match="another way than task by task"):
        list(tasks_of(channel(send())))


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(NotTaskByTaskError, match="more than 20000 steps"):
        list(tasks_of(channel(FlatLoop(30_000, (TAKE, send(4), GIVE)))))
