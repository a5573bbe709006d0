"""Programs that are wrong: each gets a clear error, in bounded time and memory."""

import dataclasses
import signal
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from npuflow.errors import InputError
from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatCompute,
    FlatControl,
    FlatEngine,
    FlatLimit,
    FlatLoop,
    FlatMemory,
    FlatOperand,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Program,
    Resource,
    contiguous,
)
from npuflow.simulate.run import DeadlockError, RunLimits, simulate


def error_of(program: Program, limits: RunLimits | None = None) -> str:
    with pytest.raises(InputError) as caught:
        simulate(program, limits=limits or RunLimits())
    return str(caught.value)


def engines(*bodies: tuple[FlatStep, ...], **rest: object) -> Program:
    """Engines e0, e1, ... of these bodies."""
    return Program(tuple(FlatEngine(f"e{i}", body) for i, body in enumerate(bodies)), **rest)  # type: ignore[arg-type]


ONE = contiguous("b", (4,), 4)
BACKWARDS = FlatAccess("b", (4,), (1,), 4, slot=FlatAffine(0, (-1,)))
STORAGE = {"memories": (FlatMemory("m", 1, 64),), "buffers": (FlatBuffer("b", "m", 64),)}
WIRE = {**STORAGE, "streams": (FlatStream("s", "e0", ("e1",)),)}


def transfer(access: FlatAccess) -> Program:
    return engines((FlatSend("s", ONE),), (FlatReceive("s", access, "take"),), **WIRE)


def test_a_circle_of_waits_is_named() -> None:
    # Each takes its own and wants the other's.
    program = engines(
        (FlatControl(7), FlatAcquire("full"), FlatRelease("empty")),
        (FlatAcquire("empty"), FlatRelease("full")),
        semaphores=(FlatSemaphore("empty"), FlatSemaphore("full")),
    )
    assert error_of(program) == (
        "error: deadlock at cycle 7: a circle of 2: "
        "'e0' waits at 'acquire full' for 1 of semaphore 'full' (has 0), which 'e1' can still release; "
        "'e1' waits at 'acquire empty' for 1 of semaphore 'empty' (has 0), which 'e0' can still release; "
        "hint: check that each acquire has its release, and the buffers' depths"
    )


def test_a_lock_that_is_never_released() -> None:
    program = engines(
        (FlatLoop(3, (FlatAcquire("s"), FlatControl(5))),),
        (FlatLoop(2, (FlatRelease("s"), FlatControl(1))),),
        semaphores=(FlatSemaphore("s"),),
    )
    message = "'e0' waits at 'acquire s' for 1 of semaphore 's' (has 0), which nobody can still release"
    assert f"deadlock at cycle 10: {message}" in error_of(program)


def test_a_receiver_without_its_sender() -> None:
    program = engines((FlatSend("s", ONE), FlatControl(9)), (FlatLoop(2, (FlatReceive("s", ONE),)),), **WIRE)
    message = "'e1' waits at 'receive s' for an engine that has ended at stream 's'"
    assert message in error_of(program)


def test_a_multicast_whose_receiver_waits_for_its_sender() -> None:
    program = engines(
        (FlatSend("s", ONE), FlatRelease("go")),
        (FlatReceive("s", ONE),),
        (FlatAcquire("go"), FlatReceive("s", ONE)),
        **{**WIRE, "streams": (FlatStream("s", "e0", ("e1", "e2")),)},
        semaphores=(FlatSemaphore("go"),),
    )
    message = error_of(program)
    assert "a circle of 2: 'e0' waits at 'send s' for 'e2' at stream 's'; 'e2' waits at 'acquire go'" in message
    assert "'e1' waits at 'receive s' for 'e2' at stream 's'" in message


def test_a_deadlock_of_many_engines_is_told_briefly() -> None:
    program = engines(*((FlatAcquire("s"),) for _ in range(100)), semaphores=(FlatSemaphore("s"),))
    message = error_of(program)
    assert message.count("waits at") == 12
    assert "and 88 more" in message


def test_a_deadlock_of_very_many_engines_is_told_soon() -> None:
    # A chain of 3000 that each wait for the next, and the last for the first.
    count = 3000
    program = engines(
        *((FlatAcquire(f"s{i}"), FlatRelease(f"s{(i + 1) % count}")) for i in range(count)),
        semaphores=tuple(FlatSemaphore(f"s{i}") for i in range(count)),
    )
    began = time.process_time()
    assert "a circle of 3000: 'e0' waits" in error_of(program)
    assert time.process_time() - began < 5


def test_deadlocks_have_their_own_type() -> None:
    with pytest.raises(DeadlockError):
        simulate(engines((FlatAcquire("s"),), semaphores=(FlatSemaphore("s"),)))


def test_a_semaphore_that_overflows() -> None:
    program = engines(
        (FlatLoop(5, (FlatControl(2), FlatRelease("s", 20))),), semaphores=(FlatSemaphore("s", maximum=63),)
    )
    assert "'release s' of 'e0' raises semaphore 's' to 80 at cycle 8, above its maximum 63" in error_of(program)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (engines((FlatAcquire("full"),), semaphores=(FlatSemaphore("fill"),)),
         "unknown semaphore 'full'; hint: did you mean"),
        (engines((FlatSend("t", ONE),), (), **WIRE), "'send t' of engine 'e0': unknown stream 't'"),
        (transfer(contiguous("c", (4,), 4)), "'take' of engine 'e1': unknown buffer 'c'"),
        (Program((), buffers=(FlatBuffer("b", "m", 4),)), "buffer 'b': unknown memory 'm'"),
        (Program((), streams=(FlatStream("s", "x", ("y",)),)), "stream 's': unknown engine 'x'"),
        (Program((FlatEngine("e", (), ports=("p",)),)), "engine 'e': unknown resource 'p'"),
        (Program((FlatEngine("e", ()), FlatEngine("e", ()))), "two things of kind engine are named 'e'"),
        (Program((), semaphores=(FlatSemaphore("s", cause=Cause.KERNEL),)), "the cause kernel; hint: use one of data"),
        (engines((FlatReceive("s", ONE),), (), **WIRE), "'receive s' of 'e0' receives from stream 's'"),
        (engines((), (FlatSend("s", ONE),), **WIRE), "'send s' of 'e1' sends on stream 's'"),
        (Program((FlatEngine("e", ()),), streams=(FlatStream("s", "e", ("e",)),)),
         "'s' has an engine at two of its ends"),
        (Program((FlatEngine("e", ()),), streams=(FlatStream("s", "e", ()),)), "stream 's' has no receiver"),
        (transfer(FlatAccess("b", (4,), (0,), 4)),
         "'take' of 'e1' writes the same elements 4 times; hint: stride 0 is 0"),
        (transfer(FlatAccess("b", (0,), (1,), 4)), "size 0 of 'take' of 'e1' is 0; hint: it must be 1 to"),
        (transfer(FlatAccess("b", (-1,), (1,), 4)), "size 0 of 'take' of 'e1' is -1"),
        (transfer(FlatAccess("b", (4,), (1, 1), 4)), "has 1 sizes and 2 strides"),
        (transfer(FlatAccess("b", (1,) * 9, (1,) * 9, 4)), "an access of 9 dimensions; hint: at most 8"),
        (transfer(contiguous("b", (16,), 1)), "moves elements of 1 bytes on 's', where another transfer has 4"),
        (transfer(FlatAccess("b", (4,), (1,), 0)), "the element size of 'take' of 'e1' is 0"),
        (transfer(FlatAccess("b", (4,), (1,), 4, FlatAffine(0, (1,)))), "uses the counters of 1 loops in its offset"),
        (transfer(FlatAccess("b", (4,), (1,), 4, limits=(FlatLimit((1, 1), FlatAffine(2)),))),
         "a limit of 2 coefficients for 1"),
        (transfer(FlatAccess("b", (2, 2), (2, 1), 4, limits=(FlatLimit((1, 1), FlatAffine(2)),))),
         "skips by a limit over several"),
        (transfer(FlatAccess("b", (4,), (1,), 4, FlatAffine(1 << 60))), "has an offset that leaves every memory"),
        (transfer(FlatAccess("b", (1 << 45,), (1,), 4)), "more elements, or a wider span, than any memory"),
        (transfer(FlatAccess("b", (1 << 80,), (1,), 4)), "a number the simulator cannot hold"),
        (transfer(FlatAccess("b", (4,), (5,), 4, FlatAffine(3))),
         "touches bytes 12 to 75 of a slot of 'b', which has 64"),
        (engines((FlatLoop(-1, ()),)), "the trip count of a loop of 'e0' is -1"),
        (engines((FlatControl(-1),)), "the cycles of 'control' of 'e0' is -1"),
        (engines((FlatAcquire("s", 0),), semaphores=(FlatSemaphore("s"),)),
         "the count of 'acquire s' of 'e0' on 's' is 0"),
        (engines((FlatAcquire("s", 64),), semaphores=(FlatSemaphore("s"),)), "is 64; hint: it must be 1 to 63"),
        (Program((), semaphores=(FlatSemaphore("s", 64),)), "the initial value of semaphore 's' is 64"),
        (Program((), resources=(Resource("r", 0.0),)), "resource 'r' moves 0.000000 bytes per cycle"),
        (Program((), resources=(Resource("r", float("nan")),)), "resource 'r' moves nan bytes per cycle"),
        (transfer(FlatAccess("b", (4,), (1,), 4, run_overhead_bytes=-1.0)), "loses -1.000000 bytes' time per run"),
        (Program((), memories=(FlatMemory("m", 1, -1),)), "the size of 'm' is -1"),
        (
            Program((), memories=(FlatMemory("m", 1, 100),), buffers=(FlatBuffer("b", "m", 40, 30, 2),)),
            "buffer 'b' needs bytes 30 to 109 of 'm', which has 100",
        ),
        (Program((), memories=(FlatMemory("m", 1, 8),), buffers=(FlatBuffer("b", "m", 8, -8),)),
         "address of buffer 'b' is -8"),
        (
            engines((FlatLoop(2, (FlatCompute("k", 1, (FlatOperand(BACKWARDS),)),)),),
                    memories=(FlatMemory("m", 1, 64),), buffers=(FlatBuffer("b", "m", 32, depth=2),)),
            "'k' of 'e0' uses slot -1 of 'b'",
        ),
    ],
)  # fmt: skip
def test_wrong_programs(program: Program, message: str) -> None:
    assert message in error_of(program)


def test_all_problems_are_told() -> None:
    program = engines((FlatControl(-1), FlatControl(-2)), semaphores=(FlatSemaphore("s", -1),))
    assert error_of(program).count("error:") == 3


def nested(depth: int, trips: int) -> tuple[FlatStep, ...]:
    return (FlatControl(0),) if depth == 0 else (FlatLoop(trips, nested(depth - 1, trips)),)


def test_huge_loops_end_in_bounded_time_and_memory() -> None:
    program = engines(nested(8, 1 << 40), nested(3, 1 << 40))
    tracemalloc.start()
    began = time.process_time()
    message = error_of(program, RunLimits(steps=20_000_000))
    assert time.process_time() - began < 10
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()
    assert "takes more than 20000000 steps; hint: use larger tiles, or allow more steps" in message


def test_loops_nested_too_deeply() -> None:
    assert "loops more than 32 deep" in error_of(engines(nested(200, 2)))


def test_time_does_not_overflow() -> None:
    assert "more than 2^60 cycles" in error_of(engines((FlatLoop(1 << 20, (FlatControl(1 << 47),)),)))


def test_long_traces_are_cut() -> None:
    program = engines((FlatLoop(1000, (FlatControl(1),)),))
    results = simulate(program, trace=True, limits=RunLimits(trace_events=10))
    assert results.trace is not None
    assert len(results.trace) == 10
    assert results.trace.is_cut
    assert results.cycles == 1000


def test_counting_what_limits_leave_is_bounded() -> None:
    # A limit over two long dimensions, of which only a sliver is inside.
    from npuflow.simulate.program import Outside

    wide = FlatAccess(
        "b", (1 << 20, 1 << 20), (0, 0), 4, limits=(FlatLimit((1, 1), FlatAffine(3)),), outside=Outside.ZERO
    )
    program = dataclasses.replace(
        transfer(ONE), engines=(FlatEngine("e0", (FlatSend("s", wide),)), FlatEngine("e1", ()))
    )
    assert "takes more than 1000 steps" in error_of(program, RunLimits(steps=1000))


def test_a_long_run_can_be_interrupted() -> None:
    class StopRun(BaseException):
        pass

    def interrupt(*_: object) -> None:
        raise StopRun

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(StopRun):
            simulate(engines(nested(6, 1 << 20)), limits=RunLimits(steps=1 << 40))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_runs_in_threads_do_not_disturb_each_other() -> None:
    steps = (FlatControl(3), FlatRelease("s"), FlatAcquire("s"))
    programs = [engines((FlatLoop(20_000 + i, steps),), semaphores=(FlatSemaphore("s"),)) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        cycles = list(pool.map(lambda program: simulate(program).cycles, programs))
    assert cycles == [3 * (20_000 + i) for i in range(8)]
