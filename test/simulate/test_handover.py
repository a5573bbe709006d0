"""What is proven of semaphores and rounds without running a program to its end."""

from __future__ import annotations

import pytest

from npuflow.simulate.handover import few_rounds, semaphore_problems
from npuflow.simulate.program import (
    Cause,
    FlatAcquire,
    FlatControl,
    FlatEngine,
    FlatLoop,
    FlatRelease,
    FlatSemaphore,
    FlatStep,
    Program,
)
from npuflow.simulate.run import DeadlockError, simulate

MANY = 10**12


def pair(*bodies: tuple[FlatStep, ...], depth: int = 2, room: int = 2) -> Program:
    """Engines around a buffer of `depth` slots, `room` of which the producer thinks are free."""
    semaphores = (
        FlatSemaphore("full", 0, depth, Cause.DATA),
        FlatSemaphore("empty", room, max(depth, room), Cause.SPACE),
    )
    return Program(tuple(FlatEngine(f"e{i}", body) for i, body in enumerate(bodies)), semaphores=semaphores)


FILL: tuple[FlatStep, ...] = (FlatAcquire("empty"), FlatControl(3), FlatRelease("full"))
DRAIN: tuple[FlatStep, ...] = (FlatAcquire("full"), FlatControl(5), FlatRelease("empty"))


def test_any_number_of_rounds_is_decided_at_once() -> None:
    program = pair((FlatLoop(MANY, FILL),), (FlatLoop(MANY, DRAIN),))
    assert semaphore_problems(program) == []
    runs = few_rounds(program)
    assert [simulate(run).operations > 0 for run in runs] == [True] * 3


def test_a_value_is_bounded_in_every_order() -> None:
    # The drain is the slower one, so a run would show it; were it the faster one, no run would.
    for drain in (DRAIN, (FlatAcquire("full"), FlatRelease("empty"))):
        (problem,) = semaphore_problems(pair((FlatLoop(9, FILL),), (FlatLoop(9, drain),), room=3))
        assert problem.what == "semaphore 'full' can reach 3, above its maximum of 2"


def test_releases_ahead_of_their_wait_count() -> None:
    # Two releases before the second wait: three slots are on their way at a time, full or, once drained, empty.
    hasty: tuple[FlatStep, ...] = (FlatAcquire("empty"), FlatRelease("full"), FlatRelease("full"), FlatAcquire("empty"))
    found = [problem.what for problem in semaphore_problems(pair((FlatLoop(9, hasty),), (FlatLoop(18, DRAIN),)))]
    assert found == [f"semaphore '{name}' can reach 3, above its maximum of 2" for name in ("full", "empty")]


def test_room_that_is_given_back_bounds_as_well() -> None:
    # Between groups of ops the control processor takes all room, free when all is written, and gives it back.
    wait: tuple[FlatStep, ...] = (*[FlatAcquire("empty")] * 2, *[FlatRelease("empty")] * 2)
    assert semaphore_problems(pair((FlatLoop(9, FILL), *wait, FlatLoop(9, FILL)), (FlatLoop(18, DRAIN),))) == []
    # What it gives back beyond what it took is room for one more.
    more: tuple[FlatStep, ...] = (FlatAcquire("empty"), *[FlatRelease("empty")] * 2)
    less: tuple[FlatStep, ...] = (FlatLoop(18, DRAIN[:2]), FlatLoop(17, DRAIN[2:]))
    found = semaphore_problems(pair((FlatLoop(9, FILL), *more, FlatLoop(9, FILL)), less))
    assert [problem.what for problem in found] == ["semaphore 'full' can grow without a bound, above its maximum of 2"]


def test_trip_counts_multiply() -> None:
    nested = pair((FlatLoop(6, (FlatLoop(4, FILL),)),), (FlatLoop(8, (FlatLoop(3, DRAIN),)),))
    assert semaphore_problems(nested) == []
    (first, second) = semaphore_problems(
        pair((FlatLoop(6, (FlatLoop(4, FILL),)),), (FlatLoop(8, (FlatLoop(2, DRAIN),)),))
    )
    assert "'full' is acquired 16 times and released 24 times" in first.what
    assert "'empty' is acquired 24 times and released 16 times" in second.what


def test_a_deadlock_in_a_round_is_found() -> None:
    # The second program wants two of what is given once before it gives them back.
    program = pair(
        (FlatRelease("full"), FlatLoop(MANY, (FlatAcquire("full"), FlatRelease("full")))),
        (FlatLoop(MANY, (FlatControl(1),)),),
    )
    greedy = pair(
        (FlatLoop(MANY, (FlatAcquire("full"), FlatAcquire("full"), FlatRelease("full"), FlatRelease("full"))),),
        (FlatLoop(MANY, FILL[1:2]),),
    )
    assert [simulate(run).operations > 0 for run in few_rounds(program)] == [True] * 3
    with pytest.raises(DeadlockError):
        simulate(few_rounds(greedy)[0])


def test_an_engine_without_a_loop_waits_for_what_follows_the_rounds() -> None:
    # As the control processor does that sets up one task of many rounds, and waits for its end.
    semaphores = (FlatSemaphore("task", 0, 1, Cause.TASK), FlatSemaphore("room", 1, 1, Cause.TASK))
    control: tuple[FlatStep, ...] = (FlatAcquire("room"), FlatRelease("task"), FlatAcquire("room"))
    worker: tuple[FlatStep, ...] = (FlatAcquire("task"), FlatLoop(MANY, (FlatControl(1),)), FlatRelease("room"))
    program = Program((FlatEngine("control", control), FlatEngine("worker", worker)), semaphores=semaphores)
    assert [simulate(run).operations > 0 for run in few_rounds(program)] == [True] * 3
    stuck = Program(
        (FlatEngine("control", (FlatAcquire("room"), *control)), FlatEngine("worker", worker)), semaphores=semaphores
    )
    with pytest.raises(DeadlockError):
        simulate(few_rounds(stuck)[-1])


def test_rounds_that_say_nothing_about_later_ones_are_not_shortened() -> None:
    assert (
        few_rounds(pair((FlatLoop(MANY, FILL),), (FlatLoop(MANY // 2, (*DRAIN, *DRAIN)),))) == ()
    )  # other trip counts
    assert (
        few_rounds(pair((FlatLoop(MANY, FILL),), (FlatLoop(MANY, (*DRAIN, *DRAIN)),))) == ()
    )  # a round takes more than it gives
    assert (
        few_rounds(pair((FlatLoop(MANY, FILL), FlatLoop(MANY, FILL)), (FlatLoop(MANY, DRAIN),))) == ()
    )  # two loops in a row
