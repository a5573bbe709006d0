"""Memory shared with child processes, between guard bytes that show who writes outside of it."""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

GUARD_BYTES = 4096
_ALIGNMENT = 64
_GUARD = 0xA5


class Arena:
    """Pieces of memory of given sizes, each filled with one byte: `Arena([(16, 0xFF)]).pieces[0]`."""

    def __init__(self, sizes_and_fills: Sequence[tuple[int, int]]) -> None:
        starts, end = [], GUARD_BYTES
        for size, _ in sizes_and_fills:
            starts.append(end)
            end += -(-size // _ALIGNMENT) * _ALIGNMENT + GUARD_BYTES
        self._bytes = np.frombuffer(mmap.mmap(-1, end), np.uint8)
        self.pieces: list[NDArray[np.uint8]] = []
        self._gaps: list[NDArray[np.uint8]] = []
        behind = 0
        for start, (size, fill) in zip(starts, sizes_and_fills, strict=True):
            self._gaps.append(self._bytes[behind:start])
            behind = start + size
            self.pieces.append(self._bytes[start:behind])
            self.pieces[-1][:] = fill
        self._gaps.append(self._bytes[behind:])
        for gap in self._gaps:
            gap[:] = _GUARD

    def overrun(self, names: Sequence[str]) -> str | None:
        """What was written outside of the pieces: `4 bytes behind array 1`; None if nothing was."""
        wrong = [np.count_nonzero(gap != _GUARD) for gap in self._gaps]
        first = next((position for position, count in enumerate(wrong) if count), None)
        if first is None:
            return None
        return f"{sum(wrong)} bytes " + (f"behind {names[first - 1]}" if first else f"in front of {names[0]}")
