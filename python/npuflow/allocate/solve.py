"""The ways to lay buffers into a memory, by name."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from npuflow.allocate.baselines import coloured_offsets, greedy_offsets
from npuflow.allocate.exact import exact_packing
from npuflow.allocate.problem import LiveBuffer, Packing, packing_of, peak_bytes


class AllocationMethod(Enum):
    """How addresses are found."""

    EXACT = "exact"
    COLOURING = "colouring"
    GREEDY = "greedy"


DEFAULT_SECONDS = 30.0


def allocate(
    buffers: Sequence[LiveBuffer],
    method: AllocationMethod = AllocationMethod.EXACT,
    capacity: int | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> Packing:
    """A packing; whether it needs more than `capacity` is for the caller to see. The baselines heed no capacity."""
    if method is AllocationMethod.EXACT:
        return exact_packing(buffers, capacity, seconds)
    offsets = greedy_offsets(buffers) if method is AllocationMethod.GREEDY else coloured_offsets(buffers)
    return packing_of(buffers, offsets, peak_bytes(buffers))
