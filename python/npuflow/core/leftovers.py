"""What must not be left behind where the process is ended from one moment to the next."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_pending: dict[str, Callable[[], object]] = {}
_ending = threading.Event()


@contextmanager
def removed_at_end(remove: Callable[[], object]) -> Iterator[None]:
    """Calls `remove` behind the block, or where the process is ended in it; while it is ended, no block begins."""
    if _ending.is_set():
        raise SystemExit  # of this thread: another one is ending the process
    key = secrets.token_hex()
    _pending[key] = remove
    try:
        yield
    finally:
        remove()
        _pending.pop(key, None)


def remove_leftovers() -> None:
    """For a handler of signals, in whatever the process was about; the process must end behind it."""
    _ending.set()
    while _pending:
        _, remove = _pending.popitem()
        with suppress(OSError):
            remove()
