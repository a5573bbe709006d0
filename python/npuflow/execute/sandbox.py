"""Child processes that others' code runs in, under limits on their time and memory.

A wrong program may write anywhere, never end or take all memory. In a child it spoils nothing but what it shares with
us (`arena`), and it can be stopped. No child outlives us: the system kills it when we die, however that happens.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from npuflow.core.leftovers import removed_at_end
from npuflow.errors import with_hint
from npuflow.execute.fork import fork, kill, signals_held
from npuflow.execute.limits import UNLIMITED, Limits, ProgramFailedError, limited, limits_in_force

Thing = TypeVar("Thing")
Value = TypeVar("Value")

# How often a child's memory is looked at; a core fills some 100 MB in that time.
_GLANCE_SECONDS = 0.02

# Of the number of a thing whose turn it is.
_TURN_BYTES = array("I").itemsize


@dataclass(frozen=True)
class Ended:
    """How another program ended; a negative code is the signal that ended it."""

    code: int
    stdout: bytes
    stderr: bytes


class _ChildScope:
    """Children that end together: once it is closed, those that run are killed, and no other starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: set[int] = set()
        self._is_closed = False

    def start(self, body: Callable[[], None]) -> int:
        with self._lock:
            if self._is_closed:
                raise ProgramFailedError("the run was ended before this began")
            child = fork(body)
            self._children.add(child)
        return child

    def end(self, child: int) -> None:
        """Kills a child, unless it has ended, and what it started."""
        with self._lock:
            kill(child)
            os.waitpid(child, 0)
            self._children.remove(child)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for child in self._children:
                kill(child)


_OUTERMOST = _ChildScope()
_scope: ContextVar[_ChildScope] = ContextVar("scope", default=_OUTERMOST)


@contextmanager
def beside(threads: int = 1) -> Iterator[Executor]:
    """Threads for work beside this one's; where the block fails or is interrupted, that work ends at once."""
    scope = _ChildScope()
    context = copy_context()
    context.run(_scope.set, scope)
    pool = ThreadPoolExecutor(threads, initializer=_adopt, initargs=(context,))
    try:
        yield pool
    except BaseException:
        scope.close()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def in_turns(action: Callable[[Iterator[Thing]], Value], things: Sequence[Thing], jobs: int, what: str) -> list[Value]:
    """What an action gives in each of up to `jobs` processes, which take turns at things; this one's comes first.

    Each has the next thing once it is done with the one before, and knows what it found for that. Forks are waited for
    without a limit. What those were handed that fail is missing, for this process to run into, where it can be seen.
    """
    with _shared_file() as turns, ExitStack() as forks:
        turns.write(array("I", range(len(things))).tobytes())
        turns.seek(0)

        def handed() -> Iterator[Thing]:
            while turn := os.read(turns.fileno(), _TURN_BYTES):  # the place in a file is one for all forks
                yield things[array("I", turn)[0]]

        others = [
            forks.enter_context(begun_in_child(lambda: action(handed()), what))
            for _ in range(1, min(jobs, len(things)))
        ]
        found = [action(handed())]
        for other in others:
            with limited(UNLIMITED), suppress(Exception):
                found.append(other())
    return found


def _adopt(context: Context) -> None:
    """Makes what holds in a context, limits among it, hold in this thread."""
    for variable, value in context.items():
        variable.set(value)


def run_in_child(action: Callable[[], Value], what: str) -> Value:
    """What `action` gives or raises in a fork of this process, under the limits in force; messages call it `what`.

    Raises LimitError where it takes too much, ProgramFailedError where it crashes. The fork has none of our other
    threads: `action` must not wait for them, nor import what is not imported yet.
    """
    with begun_in_child(action, what) as found:
        return found()


@contextmanager
def begun_in_child(action: Callable[[], Value], what: str) -> Iterator[Callable[[], Value]]:
    """The same beside the block; what that is handed waits for the fork, which doesn't outlive the block."""
    with _shared_file() as file:

        def body() -> None:
            try:
                outcome: tuple[Value | None, Exception | None] = (action(), None)
            except Exception as error:  # noqa: BLE001  (it is raised where it belongs, in the parent)
                outcome = (None, error)
            pickle.dump(outcome, file, pickle.HIGHEST_PROTOCOL)
            file.flush()

        def found() -> Value:
            _check(ended(), what)
            try:
                file.seek(0)
                value, error = pickle.load(file)
            except Exception as spoiled:
                raise ProgramFailedError(f"{what} ended without a result") from spoiled
            if error is not None:
                raise error
            result: Value = value
            return result

        with _supervised(body, what) as ended:
            yield found


def run_program(command: Sequence[str], given: bytes, what: str, environment: Mapping[str, str]) -> Ended:
    """Runs another program on `given` as its standard input, under the limits in force."""
    with _shared_file() as stdin, _shared_file() as stdout, _shared_file() as stderr:
        stdin.write(given)
        stdin.seek(0)

        def body() -> None:
            for number, file in enumerate((stdin, stdout, stderr)):
                os.dup2(file.fileno(), number)
            os.execve(command[0], list(command), dict(environment))

        with _supervised(body, what) as ended:
            code = ended()
        for file in (stdout, stderr):
            file.seek(0)
        return Ended(code, stdout.read(), stderr.read())


def _shared_file() -> BinaryIO:
    """A file in memory, without a name to be left behind."""
    return os.fdopen(os.memfd_create("npuflow"), "w+b")


@contextmanager
def _supervised(body: Callable[[], None], what: str) -> Iterator[Callable[[], int]]:
    """A child that runs `body` beside the block; what that is handed waits for its exit code, or negative signal."""
    scope, inherited_bytes = _scope.get(), _own_bytes("self")
    with ExitStack() as ends:
        with signals_held():
            child = scope.start(body)
            ends.callback(scope.end, child)
        ends.enter_context(removed_at_end(lambda: kill(child)))

        def ended() -> int:
            _watch(child, inherited_bytes, what, limits_in_force())
            found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            assert found is not None
            return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

        yield ended


def _watch(child: int, inherited_bytes: int, what: str, limits: Limits) -> None:
    """Returns when the child has ended; raises where it takes more than it may.

    Limits of the system's own are no use here: they count mappings and not what is used of them, and programs that run
    into them crash without saying why.
    """
    end, most_bytes = time.monotonic() + limits.time_seconds, limits.most_bytes
    watch = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        while (left := end - time.monotonic()) > 0:
            if poll.poll(1000 * min(left, _GLANCE_SECONDS)):
                return
            if _own_bytes(str(child)) - inherited_bytes > most_bytes:
                raise limits.out_of_memory(what, most_bytes)
    finally:
        os.close(watch)
    raise limits.out_of_time(what)


def _own_bytes(process: str) -> int:
    """The memory that a process has filled and shares with no file."""
    _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    return (int(resident) - int(shared)) * resource.getpagesize()


def _check(code: int, what: str) -> None:
    if code == -signal.SIGKILL:
        hint = "the system does that where memory runs out: try a smaller shape, or --memory-limit"
        raise ProgramFailedError(with_hint(f"{what} was killed", hint))
    if code < 0:
        raise ProgramFailedError(f"{what} crashed with {signal.Signals(-code).name}")
    if code > 0:
        raise ProgramFailedError(f"{what} ended with exit code {code}")
