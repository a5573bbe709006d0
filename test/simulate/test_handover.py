"""What is proven of semaphores and rounds without running a program to its end."""

from __future__ import annotations

import pytest

from npuflow.simulate.handover import few_rounds, semaphore_problems
from npuflow.simulate.program import Acquire, Cause, Control, Engine, Loop, Program, Release, Semaphore, Step
from npuflow.simulate.run import DeadlockError, simulate

MANY = 10**12


def pair(*bodies: tuple[Step, ...], depth: int = 2, room: int = 2) -> Program:
    """Engines around a buffer of `depth` slots, `room` of which the producer thinks are free."""
    semaphores = (
        Semaphore("full", 0, depth, Cause.DATA),
        Semaphore("empty", room, max(depth, room), Cause.SPACE),
    )
    return Program(tuple(Engine(f"e{i}", body) for i, body in enumerate(bodies)), semaphores=semaphores)


FILL: tuple[Step, ...] = (Acquire("empty"), Control(3), Release("full"))
DRAIN: tuple[Step, ...] = (Acquire("full"), Control(5), Release("empty"))


def test_any_number_of_rounds_is_decided_at_once() -> None:
    program = pair((Loop(MANY, FILL),), (Loop(MANY, DRAIN),))
    assert semaphore_problems(program) == []
    runs = few_rounds(program)
    assert [simulate(run).operations > 0 for run in runs] == [True] * 3


def test_a_value_is_bounded_in_every_order() -> None:
    # The drain is the slower one, so a run would show it; were it the faster one, no run would.
    for drain in (DRAIN, (Acquire("full"), Release("empty"))):
        (problem,) = semaphore_problems(pair((Loop(9, FILL),), (Loop(9, drain),), room=3))
        assert problem.what == "semaphore 'full' can reach 3, above its maximum of 2"


def test_releases_ahead_of_their_wait_count() -> None:
    # Two releases before the second wait: three slots are on their way at a time, full or, once drained, empty.
    hasty: tuple[Step, ...] = (Acquire("empty"), Release("full"), Release("full"), Acquire("empty"))
    found = [problem.what for problem in semaphore_problems(pair((Loop(9, hasty),), (Loop(18, DRAIN),)))]
    assert found == [f"semaphore '{name}' can reach 3, above its maximum of 2" for name in ("full", "empty")]


def test_trip_counts_multiply() -> None:
    nested = pair((Loop(6, (Loop(4, FILL),)),), (Loop(8, (Loop(3, DRAIN),)),))
    assert semaphore_problems(nested) == []
    (first, second) = semaphore_problems(pair((Loop(6, (Loop(4, FILL),)),), (Loop(8, (Loop(2, DRAIN),)),)))
    assert "'full' is acquired 16 times and released 24 times" in first.what
    assert "'empty' is acquired 24 times and released 16 times" in second.what


def test_a_deadlock_in_a_round_is_found() -> None:
    # The second program wants two of what is given once before it gives them back.
    program = pair((Release("full"), Loop(MANY, (Acquire("full"), Release("full")))), (Loop(MANY, (Control(1),)),))
    greedy = pair(
        (Loop(MANY, (Acquire("full"), Acquire("full"), Release("full"), Release("full"))),), (Loop(MANY, FILL[1:2]),)
    )
    assert [simulate(run).operations > 0 for run in few_rounds(program)] == [True] * 3
    with pytest.raises(DeadlockError):
        simulate(few_rounds(greedy)[0])


def test_an_engine_without_a_loop_waits_for_what_follows_the_rounds() -> None:
    # As the control processor does that sets up one task of many rounds, and waits for its end.
    semaphores = (Semaphore("task", 0, 1, Cause.TASK), Semaphore("room", 1, 1, Cause.TASK))
    control: tuple[Step, ...] = (Acquire("room"), Release("task"), Acquire("room"))
    worker: tuple[Step, ...] = (Acquire("task"), Loop(MANY, (Control(1),)), Release("room"))
    program = Program((Engine("control", control), Engine("worker", worker)), semaphores=semaphores)
    assert [simulate(run).operations > 0 for run in few_rounds(program)] == [True] * 3
    stuck = Program((Engine("control", (Acquire("room"), *control)), Engine("worker", worker)), semaphores=semaphores)
    with pytest.raises(DeadlockError):
        simulate(few_rounds(stuck)[-1])


def test_rounds_that_say_nothing_about_later_ones_are_not_shortened() -> None:
    assert few_rounds(pair((Loop(MANY, FILL),), (Loop(MANY // 2, (*DRAIN, *DRAIN)),))) == ()  # other trip counts
    assert (
        few_rounds(pair((Loop(MANY, FILL),), (Loop(MANY, (*DRAIN, *DRAIN)),))) == ()
    )  # a round takes more than it gives
    assert few_rounds(pair((Loop(MANY, FILL), Loop(MANY, FILL)), (Loop(MANY, DRAIN),))) == ()  # two loops in a row
