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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
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

_NOT_STARTED = -1
# So many times does a process get work: often enough to end together, seldom enough to begin quickly.
_TURNS = 4


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

    def end(self, child: int) -> int:
        """Kills a child, unless it has ended, and what it started; its exit code, or the negative signal."""
        with self._lock:
            kill(child)
            _, status = os.waitpid(child, 0)
            self._children.remove(child)
        return os.waitstatus_to_exitcode(status)

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


def chunks(things: Sequence[Value], jobs: int) -> list[Sequence[Value]]:
    """Things in as many pieces as processes are begun for them where `jobs` run side by side: each costs a fork."""
    size = max(1, -(-len(things) // (_TURNS * jobs)))
    return [things[first : first + size] for first in range(0, len(things), size)]


def side_by_side(action: Callable[[Thing], Value], things: Sequence[Thing], jobs: int, what: str) -> list[Value | None]:
    """What an action gives for each thing, in a child of its own, up to `jobs` at once; None where one failed.

    No limits hold there. What fails is left for this process to run into, where it can be looked at.
    """

    def in_child(thing: Thing) -> Value | None:
        try:
            return run_in_child(lambda: action(thing), what)
        except Exception:  # noqa: BLE001  (it is met again where its traceback shows)
            return None

    with limited(UNLIMITED), beside(jobs) as pool:
        return list(pool.map(in_child, things))


def _adopt(context: Context) -> None:
    """Makes what holds in a context, limits among it, hold in this thread."""
    for variable, value in context.items():
        variable.set(value)


def run_in_child(action: Callable[[], Value], what: str) -> Value:
    """What `action` gives or raises in a fork of this process, under the limits in force; messages call it `what`.

    Raises LimitError where it takes too much, ProgramFailedError where it crashes. The fork has none of our other
    threads: `action` must not wait for them, nor import what is not imported yet.
    """
    with _shared_file() as file:

        def body() -> None:
            try:
                outcome: tuple[Value | None, Exception | None] = (action(), None)
            except Exception as error:  # noqa: BLE001  (it is raised where it belongs, in the parent)
                outcome = (None, error)
            pickle.dump(outcome, file, pickle.HIGHEST_PROTOCOL)
            file.flush()

        _check(_supervise(body, what), what)
        try:
            file.seek(0)
            value, error = pickle.load(file)
        except Exception as spoiled:
            raise ProgramFailedError(f"{what} ended without a result") from spoiled
    if error is not None:
        raise error
    result: Value = value
    return result


def run_program(command: Sequence[str], given: bytes, what: str, environment: Mapping[str, str]) -> Ended:
    """Runs another program on `given` as its standard input, under the limits in force."""
    with _shared_file() as stdin, _shared_file() as stdout, _shared_file() as stderr:
        stdin.write(given)
        stdin.seek(0)

        def body() -> None:
            for number, file in enumerate((stdin, stdout, stderr)):
                os.dup2(file.fileno(), number)
            os.execve(command[0], list(command), dict(environment))

        code = _supervise(body, what)
        for file in (stdout, stderr):
            file.seek(0)
        return Ended(code, stdout.read(), stderr.read())


def _shared_file() -> BinaryIO:
    """A file in memory, without a name to be left behind."""
    return os.fdopen(os.memfd_create("npuflow"), "w+b")


def _supervise(body: Callable[[], None], what: str) -> int:
    """Runs `body` in a child; its exit code."""
    scope, child = _scope.get(), 0
    inherited_bytes = _own_bytes("self")
    try:
        with signals_held():
            child = scope.start(body)
        with removed_at_end(lambda: kill(child)):
            _watch(child, inherited_bytes, what, limits_in_force())
    finally:
        code = scope.end(child) if child else _NOT_STARTED
    return code


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
