"""Packing by exact search: what fits is found, what doesn't is proved not to, as far as the time allows. Pure.

The search itself is native (`native/src/packing_search.cpp`). Parts that share no time are packed one by one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from npuflow import _native
from npuflow.allocate.baselines import greedy_offsets
from npuflow.allocate.problem import LiveBuffer, Packing, packing_of, parts, peak_bytes

# Of the time that is left, what one of several capacities is tried for.
_SHARE_OF_A_TRY = 0.25


def exact_packing(buffers: Sequence[LiveBuffer], capacity: int | None, seconds: float) -> Packing:
    """A packing that needs at most `capacity`, or without one as little as can be found in that time.

    One that needs more comes back where there is none (`bound_bytes` is then above the capacity) or none was found.
    """
    deadline = time.monotonic() + seconds
    offsets = greedy_offsets(buffers)
    bound = peak_bytes(buffers)
    # What a part may take without mattering: as much as others need anyway.
    harmless = bound if capacity is None else capacity
    searched = _sized_parts(buffers) if bound <= harmless else []
    for part in searched:
        search = PartSearch([buffers[i] for i in part], [offsets[i] for i in part], deadline)
        if capacity is None:
            search.minimise(harmless)
            harmless = max(harmless, search.need_bytes)
        elif search.need_bytes > capacity:
            search.attempt(capacity, share=1.0)
        bound = max(bound, search.refuted_bytes + 1)
        for index, start in zip(part, search.offsets, strict=True):
            offsets[index] = start
        if search.need_bytes > harmless:
            break
    return packing_of(buffers, offsets, bound)


def _sized_parts(buffers: Sequence[LiveBuffer]) -> list[list[int]]:
    """The parts without buffers of no bytes, which may lie anywhere."""
    sized = [index for index, buffer in enumerate(buffers) if buffer.size]
    return [[sized[i] for i in part] for part in parts([buffers[i] for i in sized])]


@dataclass
class PartSearch:
    """A part's best packing so far; nothing fits into `refuted_bytes`."""

    buffers: list[LiveBuffer]
    offsets: list[int]
    deadline: float
    refuted_bytes: int = field(default=-1)

    @property
    def need_bytes(self) -> int:
        return max(start + buffer.size for buffer, start in zip(self.buffers, self.offsets, strict=True))

    def minimise(self, enough: int) -> None:
        """Looks for a packing that needs as little as can be, but no less than `enough`."""
        # All addresses are sums of sizes, rounded up.
        alignments = (b.alignment for b in self.buffers if b.alignment > 1)
        step = math.gcd(*(b.size for b in self.buffers), *alignments)
        least = enough
        while least < self.need_bytes:
            # First what would be best, then half way between what is known and what is hoped for.
            middle = least if least == enough else least + (self.need_bytes - least) // 2 // step * step
            if not self.attempt(middle, _SHARE_OF_A_TRY):
                least = middle + step

    def attempt(self, capacity: int, share: float) -> bool:
        """Whether a packing was found that needs at most `capacity`."""
        demands = [(b.lower, b.upper, b.size, b.alignment) for b in self.buffers]
        seconds = max(0.0, self.deadline - time.monotonic()) * share
        outcome = _native.pack(demands, capacity, seconds)
        if outcome.verdict == "packed":
            self.offsets = list(outcome.offsets)
        elif outcome.verdict == "impossible":
            self.refuted_bytes = max(self.refuted_bytes, capacity)
        return bool(outcome.verdict == "packed")
