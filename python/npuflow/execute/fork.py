"""Forks of this process that end with it, whatever ends it."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


@contextmanager
def signals_held() -> Iterator[None]:
    """Signals that would end us wait: a child that is forked just then must not act as we would."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def fork(body: Callable[[], None]) -> int:
    """A child that runs `body` and ends; its process number."""
    parent = os.getpid()
    with warnings.catch_warnings():
        # Other threads may hold locks that stay locked in the child, but what runs there takes none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _be_child(body, parent)
    return child


def _be_child(body: Callable[[], None], parent: int) -> None:
    """Never returns: what the parent would do at its end is not the child's business."""
    code = 1
    try:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            _settle()
            body()
            code = 0
    finally:
        os._exit(code)  # noqa: TID251  (the child of a fork must not unwind into its parent's callers)


def _settle() -> None:
    os.setsid()  # a group of its own, which a terminal's Ctrl-C leaves to us
    gc.disable()  # what it would destroy here may wait for threads that only the parent has
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    with suppress(OSError):  # where memory runs out, the system takes the child and not us
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def kill(child: int) -> None:
    """Ends a child that nobody has waited for yet, and what it started."""
    os.kill(child, signal.SIGKILL)
    with suppress(ProcessLookupError):  # it may not have made its group yet
        os.killpg(child, signal.SIGKILL)
