"""Signals that ask a command to end.

It ends right there: an exception might be raised inside of MLIR, which knows none, or where somebody swallows it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from npuflow.core.leftovers import remove_leftovers

_SHELLS_OFFSET = 128  # what shells add to the number of the signal that ended a command
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """In the block, the first signal ends the process, its children and its temporary files."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python lets no other thread handle signals
        return
    # What whoever started us had us ignore, as nohup does, stays ignored.
    before = {n: handler for n in _HANDLED if (handler := signal.getsignal(n)) not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    for handled in _HANDLED:
        signal.signal(handled, signal.SIG_IGN)
    remove_leftovers()
    os._exit(_SHELLS_OFFSET + number)
