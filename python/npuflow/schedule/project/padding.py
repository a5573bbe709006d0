"""L1 buffers that hold what exists, where the engine whose windows read them makes up the zeros around it. Pure.

Zeros of a padding come in with the transfer that fills a buffer. A matrix engine may have a register for them instead:
how many there are on each side of the tile that a call works on. Then a transfer moves what exists alone, the buffer
has no room for more, and what the kernel reads is bounded, as a transfer's pattern is. Interior tiles have no bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Limit, Ref
from npuflow.schedule.nest.nest import COLUMN, ROW, BufferInfo, Kernel, Loop, Nest, Transfer, row_major, walk
from npuflow.schedule.project.clip import Clip, clip_filled, counters_around
from npuflow.schedule.project.layout import Part
from npuflow.target import KernelClass


def padded_clip(buffer: BufferInfo, nest: Nest, classes: Mapping[int, KernelClass], share: float) -> Clip | None:
    """How an L1 buffer is clipped; None where it has no zeros, or not all who read it can make them up.

    Matrix engines can, of up to `share` of the window on a side, along dimensions that their windows go through.
    """
    if any(isinstance(s, Transfer) and s.source.buffer is buffer for s, _ in walk(nest.body)):
        return None
    users = [s for s, _ in walk(nest.body) if isinstance(s, Kernel) and buffer in (*s.reads, *s.writes)]
    if not users or any(buffer in k.writes or classes[k.key] is not KernelClass.MATRIX for k in users):
        return None
    clip = clip_filled(buffer, nest, Part(COLUMN, None, buffer.shape, 1), {ROW, COLUMN, *counters_around(buffer, nest)})
    if clip is None or any(not _makes_up(kernel, buffer, clip, share) for kernel in users):
        return None
    return clip


def _makes_up(kernel: Kernel, buffer: BufferInfo, clip: Clip, share: float) -> bool:
    """Whether a kernel's engine makes up the zeros that are left out of a buffer."""
    padding = dict(kernel.padding).get(buffer, ())
    if len(padding) != len(clip.axes) or any(one.most > int(share * one.window) for one in padding):
        return False
    return all(one.window > 1 for one, axis in zip(padding, clip.axes) if axis.is_limited)


def read_with_zeros(clip: Clip, buffer: Ref, slot: Affine, trips: Mapping[str, int]) -> Access:
    """All of the tile that a clipped buffer's slot is of, in order; what isn't stored are zeros."""
    strides = row_major(clip.shape)
    offset = Affine()
    kept: list[tuple[int, int]] = []
    limits: list[tuple[int, int, Affine]] = []
    for axis, whole, stride in zip(clip.axes, clip.part.shape, strides):
        offset = offset - axis.shift * stride
        bounded = axis.bounds_within(whole, trips)
        if whole > 1 or bounded:
            limits += [(len(kept), sign, bound) for sign, bound in bounded]
            kept.append((whole, stride))
    sizes, steps = zip(*kept) if kept else ((1,), (1,))
    weighted = (Limit(tuple(sign * (d == at) for d in range(len(sizes))), bound) for at, sign, bound in limits)
    return Access(buffer, slot, offset, sizes, steps, tuple(weighted), zeros=bool(limits))


def trips_of(nest: Nest) -> dict[str, int]:
    """How often each loop of a nest turns, those over coordinates too."""
    return {s.counter: s.trips for s, _ in walk(nest.body) if isinstance(s, Loop)}
