"""Children that others' code runs in: what comes back, what stops them, and what is left."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation
from npuflow.execute.arena import Arena
from npuflow.execute.limits import LimitError, Limits, ProgramFailedError, byte_text, limited, read_size
from npuflow.execute.sandbox import beside, in_turns, run_in_child, run_program


def endless() -> None:
    while True:
        signal.pause()


def test_values_come_back_and_shared_memory_is_written() -> None:
    shared = mmap.mmap(-1, 4)

    def action() -> np.ndarray:
        shared[0] = 7
        return np.arange(3)

    np.testing.assert_array_equal(run_in_child(action, "it"), [0, 1, 2])
    assert shared[0] == 7


def test_errors_arrive_whole() -> None:
    place = SourceLocation("f.mlir", 3, 4)

    def action() -> None:
        raise InputError(Diagnostic(Severity.ERROR, "no", place))

    with pytest.raises(InputError) as caught:
        run_in_child(action, "it")
    assert caught.value.diagnostics[0].location == place


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "it crashed with SIGSEGV$"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "it was killed; hint: the system does that"),
        (lambda: ctypes.CDLL(None)._exit(5), "it ended with exit code 5$"),
        (lambda: ctypes.CDLL(None)._exit(0), "it ended without a result$"),
    ],
)
def test_a_child_that_does_not_come_to_its_end_says_how(end: object, message: str) -> None:
    with pytest.raises(ProgramFailedError, match=message):
        run_in_child(end, "it")  # type: ignore[arg-type]


def test_time_is_limited() -> None:
    with (
        limited(Limits(time_seconds=0.1)),
        pytest.raises(LimitError, match=r"it did not end within 0\.1 s; hint: allow m"),
    ):
        run_in_child(endless, "it")


def test_memory_is_limited() -> None:
    message = "it took more than 32 MiB of memory; hint: allow more"
    with limited(Limits(memory_bytes=32 << 20)), pytest.raises(LimitError, match=message):
        run_in_child(lambda: (bytearray(b"x") * (64 << 20), endless()), "it")


def test_memory_of_ours_does_not_count() -> None:
    held = np.ones(64 << 20, np.uint8)
    with limited(Limits(memory_bytes=32 << 20)):
        assert run_in_child(lambda: int(held[-1]), "it") == 1


def test_what_is_known_to_be_too_much_is_not_begun() -> None:
    with pytest.raises(LimitError, match="it needs 2 MiB of memory, has 1 MiB allowed; hint: allow more"):
        Limits(memory_bytes=1 << 20).require(2 << 20, "it")
    with pytest.raises(LimitError, match=r"it needs .* available; hint: free memory"):
        Limits().require(1 << 60, "it")


def test_limits_hold_for_work_beside_this_and_only_in_their_block() -> None:
    with limited(Limits(time_seconds=0.1)), beside() as pool:
        failed = pool.submit(run_in_child, endless, "it").exception()
    assert isinstance(failed, LimitError)
    assert run_in_child(lambda: 1, "it") == 1


def test_work_beside_ends_where_the_block_fails() -> None:
    started, after = threading.Event(), []

    def work() -> None:
        started.set()
        run_in_child(endless, "it")

    def block() -> None:
        with beside() as pool:
            futures.extend([pool.submit(work), pool.submit(after.append, 1)])
            started.wait()
            raise ZeroDivisionError

    futures: list[Future[None]] = []
    with pytest.raises(ZeroDivisionError):
        block()
    first, second = futures
    assert isinstance(first.exception(), ProgramFailedError)
    assert second.cancelled()


def test_another_program_gets_its_input_and_its_own_signals() -> None:
    script = "import signal, sys; print(sys.stdin.read(), signal.getsignal(signal.SIGTERM)); sys.exit(3)"
    ended = run_program([sys.executable, "-c", script], b"given", "it", {})
    assert (ended.code, ended.stdout, ended.stderr) == (3, f"given {signal.SIG_DFL}\n".encode(), b"")


def test_a_child_is_in_a_group_of_its_own_and_leaves_no_core() -> None:
    def action() -> tuple[bool, str]:
        limits = Path("/proc/self/limits").read_text(encoding="ascii").splitlines()
        return os.getpgrp() == os.getpid(), next(line for line in limits if line.startswith("Max core")).split()[4]

    assert run_in_child(action, "it") == (True, "0")


def test_writes_outside_of_an_arena_are_seen() -> None:
    arena = Arena([(5, 0xFF), (0, 0), (3, 0)])
    names = ["a", "b", "c"]
    assert [piece.tolist() for piece in arena.pieces] == [[255] * 5, [], [0] * 3]
    assert arena.overrun(names) is None
    first, _, last = (piece.__array_interface__["data"][0] for piece in arena.pieces)
    whole = np.frombuffer(arena.pieces[0].base, np.uint8)  # type: ignore[arg-type]
    start = whole.__array_interface__["data"][0]
    whole[last - start + 3] = 0
    assert arena.overrun(names) == "1 bytes behind c"
    whole[first - start - 1] = 0
    assert arena.overrun(names) == "2 bytes in front of a"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("4G", 4 << 30),
        ("1.5g", 3 << 29),
        ("512MiB", 512 << 20),
        ("2kB", 2048),
        ("", None),
        ("4X", None),
    ],
)
def test_sizes_are_read(text: str, size: int | None) -> None:
    assert read_size(text) == size


def test_sizes_are_shown() -> None:
    assert [byte_text(count) for count in (12, 1 << 20, 3 << 29)] == ["12 B", "1 MiB", "1.50 GiB"]


def each_has_some(some: Iterator[int], begun: mmap.mmap) -> Iterator[int]:
    """Turns of a process, which goes on when another has one, too."""
    for one in some:
        begun[one] = 1
        end = time.monotonic() + 60
        while sum(begun[:]) < 2 and time.monotonic() < end:
            time.sleep(0.001)
        yield one


def test_processes_take_turns_and_this_one_has_its_own() -> None:
    begun = mmap.mmap(-1, 8)

    def done(some: Iterator[int]) -> tuple[int, list[int]]:
        return os.getpid(), [*each_has_some(some, begun)]

    with limited(Limits(time_seconds=0.001)):  # of programs that are not ours
        (here, own), (there, others) = in_turns(done, range(8), 2, "it")
    assert here == os.getpid() != there
    assert len(own) > 0 < len(others)
    assert sorted(own + others) == [*range(8)]


def test_what_a_fork_had_that_fails_is_missing() -> None:
    here, begun = os.getpid(), mmap.mmap(-1, 8)

    def done(some: Iterator[int]) -> list[int]:
        found = []
        for one in each_has_some(some, begun):
            if os.getpid() != here:
                raise ValueError("a defect")
            found.append(one)
        return found

    (own,) = in_turns(done, range(8), 2, "it")
    assert len(own) == 7
    with pytest.raises(ValueError, match="invalid"):
        in_turns(lambda some: [int(one) for one in some], ["x"], 1, "it")
