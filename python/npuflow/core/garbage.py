"""Python's own search for objects that only hold each other: while we work, which makes many that don't, seldom."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# So many more objects than were freed before the youngest are looked at, and so many times before older ones are.
_SELDOM = (1_000_000, 20, 20)


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """In a block, or a function that this decorates, each search is put off; one who has none keeps none."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(*map(max, before, _SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(*before)
