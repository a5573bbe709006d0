"""Which hazards of a run are faults of its program."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npuflow.simulate.channel_tasks import FlatTransfer, NotTaskByTaskError, unrolled
from npuflow.simulate.places import bytes_of
from npuflow.simulate.program import FlatAccess, FlatBuffer, FlatCompute, FlatReceive, FlatStep, Program
from npuflow.simulate.results import Hazard, HazardKind, RunResults
from npuflow.simulate.walk import leaves, sends


def faults(results: RunResults) -> list[Hazard]:
    """The hazards that no right schedule has.

    Results on padding are computed and then left behind in L2, because the way out stops at the tensor's boundary:
    overwriting those bytes unread is no fault. Nor is it of what nobody reads of a buffer in the whole run, as pixels
    that a window's strides step over: a tile with these alone sends them as well.
    """
    cut = _buffers_with_limited_reads(results.program)
    return [h for h in results.hazards if h.kind is not HazardKind.LOST or not _is_left_behind(h, results.program, cut)]


def _buffers_with_limited_reads(program: Program) -> frozenset[str]:
    return frozenset(send.access.buffer for send in sends(program) if send.access.limits)


def _is_left_behind(hazard: Hazard, program: Program, cut: frozenset[str]) -> bool:
    """Whether the bytes are those of a buffer that is cut off, be it in another one's place, or that nobody reads."""
    buffers = [
        buffer
        for buffer in program.buffers
        if buffer.memory == hazard.memory
        and buffer.address_bytes <= hazard.low_byte < buffer.address_bytes + buffer.slot_bytes * buffer.depth
    ]
    return any(buffer.name in cut or _is_never_read(hazard, buffer, program) for buffer in buffers)


def _is_never_read(hazard: Hazard, buffer: FlatBuffer, program: Program) -> bool:
    """Whether others of the buffer's bytes are read, but none of those that come where some were lost."""
    came, read = np.zeros((2, buffer.slot_bytes * buffer.depth), bool)
    lost = hazard.low_byte - buffer.address_bytes, hazard.high_byte - buffer.address_bytes
    try:
        for access, writes in _accesses(program, buffer):
            own = access.slot.constant % buffer.depth * buffer.slot_bytes + bytes_of(access)
            if not writes:
                read[own] = True
            elif own.size and (own.min(), own.max() + 1) == lost:
                came[own] = True
    except NotTaskByTaskError:
        return False
    return bool(came.any() and read.any() and not (came & read).any())


def _accesses(program: Program, buffer: FlatBuffer) -> Iterator[tuple[FlatAccess, bool]]:
    """Every access to a buffer, its counters in place, and whether it writes; who does both counts as a reader."""
    for engine in program.engines:
        if any(access.buffer == buffer.name for step in leaves(engine.body) for access, _ in _touched(step)):
            steps = unrolled(engine.body)
            yield from (one for step in steps for one in _touched(step) if one[0].buffer == buffer.name)


def _touched(step: FlatStep) -> list[tuple[FlatAccess, bool]]:
    if isinstance(step, FlatTransfer):
        return [(step.access, isinstance(step, FlatReceive))]
    if isinstance(step, FlatCompute):
        return [(operand.access, operand.writes and not operand.reads) for operand in step.operands]
    return []
