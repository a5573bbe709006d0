"""Memory that a compiled program runs on, and a child process that it runs in.

A wrong program may write anywhere or never end; in a child of its own it only spoils the arrays, which lie in shared
memory between guard bytes, and it can be stopped.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import resource
import select
import signal
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from npuflow.errors import InputError, with_hint
from npuflow.execute.arrays import Array, ArraySpec, is_float

GUARD_BYTES = 4096
_ALIGNMENT = 64
_GUARD = 0xA5
_NAN_BYTES = 0xFF


class ProgramFailedError(InputError):
    """A compiled program crashed, didn't end or wrote outside of its arrays."""


class Arena:
    """Arrays in memory shared with child processes; what isn't set yet holds garbage that shows."""

    def __init__(self, specs: Sequence[ArraySpec]) -> None:
        places = []
        end = GUARD_BYTES
        for spec in specs:
            size = int(np.prod(spec.shape, dtype=np.int64)) * spec.dtype.itemsize
            places.append((end, size))
            end += -(-size // _ALIGNMENT) * _ALIGNMENT + GUARD_BYTES
        self._bytes = np.frombuffer(mmap.mmap(-1, end), np.uint8)
        self._bytes[:] = _GUARD
        self._places = places
        self.arrays: list[Array] = []
        for spec, (start, size) in zip(specs, places, strict=True):
            part = self._bytes[start : start + size]
            part[:] = _NAN_BYTES if is_float(spec.element) else _GUARD
            self.arrays.append(part.view(spec.dtype).reshape(spec.shape))

    def overrun(self) -> str | None:
        """What was written outside of the arrays: `4 bytes behind array 1`; None if nothing was."""
        gaps = np.ones(self._bytes.size, np.bool_)
        for start, size in self._places:
            gaps[start : start + size] = False
        (wrong,) = np.nonzero(gaps & (self._bytes != _GUARD))
        if not wrong.size:
            return None
        first = int(wrong[0])
        array = max((i for i, (start, _) in enumerate(self._places) if start <= first), default=-1)
        where = f"behind array {array}" if array >= 0 else "in front of array 0"
        return f"{wrong.size} bytes {where}"


def run_in_child(action: Callable[[], None], time_limit_seconds: float) -> None:
    """Runs `action` in a fork of this process; raises ProgramFailedError where it crashes or takes too long."""
    with warnings.catch_warnings():
        # Other threads may hold locks that stay locked in the child, but compiled code takes none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _be_child(action)
    watch = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([watch], [], [], time_limit_seconds)
        if not ended:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(watch)
        _, status = os.waitpid(child, 0)
    if not ended:
        text = f"the compiled program did not end within {time_limit_seconds:g} s"
        raise ProgramFailedError(with_hint(text, "try a smaller shape, or allow more time"))
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        raise ProgramFailedError(f"the compiled program crashed with {signal.Signals(-code).name}")
    if code > 0:
        raise ProgramFailedError(f"the compiled program ended with exit code {code}")


def _be_child(action: Callable[[], None]) -> None:
    """Never returns: what the parent would do at its end is not the child's business."""
    code = 1
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        action()
        code = 0
    finally:
        os._exit(code)  # noqa: TID251  (the child of a fork must not unwind into its parent's callers)
