"""Which hazards of a run are faults of its program."""

from __future__ import annotations

from npuflow.simulate.program import Program
from npuflow.simulate.results import Hazard, HazardKind, RunResults
from npuflow.simulate.walk import sends


def faults(results: RunResults) -> list[Hazard]:
    """The hazards that no right schedule has.

    Results on padding are computed and then left behind in L2, because the way out stops at the tensor's boundary:
    overwriting those bytes unread is no fault.
    """
    cut = _buffers_with_limited_reads(results.program)
    return [h for h in results.hazards if h.kind is not HazardKind.LOST or not _is_in(h, results.program, cut)]


def _buffers_with_limited_reads(program: Program) -> frozenset[str]:
    return frozenset(send.access.buffer for send in sends(program) if send.access.limits)


def _is_in(hazard: Hazard, program: Program, names: frozenset[str]) -> bool:
    """Whether the bytes are those of such a buffer, be it in another one's place."""
    return any(
        buffer.memory == hazard.memory
        and buffer.name in names
        and buffer.address_bytes <= hazard.low_byte < buffer.address_bytes + buffer.slot_bytes * buffer.depth
        for buffer in program.buffers
    )
