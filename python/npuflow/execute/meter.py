"""How far functional runs are: what a child process has done, for whoever waits for it to see."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray


class Meter:
    """Counts the operations of runs one after the other, of which so many are expected."""

    def __init__(self) -> None:
        self._now: NDArray[np.int64] = np.frombuffer(mmap.mmap(-1, 8), np.int64)
        self._before = self._expected = 0

    @property
    def share(self) -> float | None:
        """How much of what is expected is done; None while nothing is."""
        if not self._expected:
            return None
        return min(1.0, (self._before + int(self._now[0])) / self._expected)

    def expect(self, count: int) -> None:
        """So much begins that is counted by hand (`add`), rather than by runs."""
        self._before, self._expected = 0, count

    def add(self, count: int) -> None:
        """So much of it is done."""
        self._before += count

    @contextmanager
    def expecting(self, operations: int) -> Iterator[None]:
        """Runs of so many operations together begin."""
        self._before, self._expected = 0, operations
        try:
            yield
        finally:
            self._expected = 0

    @contextmanager
    def run(self) -> Iterator[NDArray[np.int64]]:
        """One of the runs, which counts here, in whatever process."""
        self._now[0] = 0
        try:
            yield self._now
        finally:
            self._before += int(self._now[0])
            self._now[0] = 0


AnyMeter = TypeVar("AnyMeter", bound=Meter)

_in_force: ContextVar[Meter | None] = ContextVar("meter", default=None)


def meter_in_force() -> Meter:
    """Where what runs now is counted."""
    return _in_force.get() or Meter()


@contextmanager
def metered(meter: AnyMeter) -> Iterator[AnyMeter]:
    """`with metered(meter): ...`: every functional run in the block is counted, whoever begins it."""
    token = _in_force.set(meter)
    try:
        yield meter
    finally:
        _in_force.reset(token)
