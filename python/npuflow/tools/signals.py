"""Signals that ask a command to end: it does so in order, so that no child, no temporary and no half file is left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SHELLS_OFFSET = 128  # what shells add to the number of the signal that ended a command
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedBySignal(KeyboardInterrupt):
    """Somebody wants the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = _SHELLS_OFFSET + number


@contextmanager
def ending_in_order() -> Iterator[None]:
    """The first signal raises InterruptedBySignal; others that come while the command ends are too late."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python lets no other thread handle signals
        return
    # What whoever started us had us ignore, as nohup does, stays ignored.
    before = {number: signal.getsignal(number) for number in _HANDLED}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
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
    raise InterruptedBySignal(number)
