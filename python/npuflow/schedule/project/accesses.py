"""A transfer's index space as the two access patterns that its ends go through, in one common order. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Limit, Ref
from npuflow.schedule.nest.nest import L1, L3, Transfer


@dataclass(frozen=True)
class _Step:
    """One dimension of the pattern: its size, both strides, and what an index weighs in a limited dimension."""

    size: int
    source: int
    target: int
    limited: int
    weight: int


def accesses(
    transfer: Transfer, source: Ref, source_slot: Affine, target: Ref, target_slot: Affine
) -> tuple[Access, Access]:
    """What is read and what is written, element by element in the same order.

    Data travels in the order in which the memory that matters most is contiguous: DRAM, else the core's L1.
    """
    by_target = transfer.target.buffer.space == L3 or (
        transfer.source.buffer.space != L3 and transfer.target.buffer.space == L1
    )
    steps = _merged(sorted(_steps(transfer), key=lambda s: -(s.target if by_target else s.source)))
    sizes = tuple(step.size for step in steps) or (1,)
    limits = []
    for number, dimension in enumerate(transfer.dimensions):
        weights = tuple(step.weight if step.limited == number else 0 for step in steps) or (0,)
        if dimension.limit is not None:
            limits.append(Limit(weights, dimension.limit))
        if dimension.lower is not None:
            limits.append(Limit(tuple(-weight for weight in weights), dimension.lower * -1 + 1))
    read = Access(
        source,
        source_slot,
        transfer.source.offset,
        sizes,
        tuple(step.source for step in steps) or (1,),
        () if transfer.drops else tuple(limits),
        zeros=transfer.pads and bool(limits),
    )
    written = Access(
        target,
        target_slot,
        transfer.target.offset,
        sizes,
        tuple(step.target for step in steps) or (1,),
        () if transfer.pads else tuple(limits),
        zeros=transfer.drops and bool(limits),
    )
    return read, written


def _steps(transfer: Transfer) -> list[_Step]:
    """The dimensions that are gone through; what limits a dimension needs a step to speak of, even of size 1."""
    steps = []
    for number, dimension in enumerate(transfer.dimensions):
        limited = number if dimension.is_limited else -1
        factors = [f for f in dimension.factors if f.size > 1] or list(dimension.factors[-1:] if limited >= 0 else ())
        steps += [_Step(f.size, f.source_stride, f.target_stride, limited, f.weight) for f in factors]
    return steps


def _merged(steps: list[_Step]) -> list[_Step]:
    """Neighbours that both sides go through as one are one."""
    merged: list[_Step] = []
    for step in steps:
        last = merged[-1] if merged else None
        if last is not None and _continues(last, step):
            merged[-1] = _Step(last.size * step.size, step.source, step.target, step.limited, step.weight)
        else:
            merged.append(step)
    return merged


def _continues(outer: _Step, inner: _Step) -> bool:
    together = outer.source == inner.source * inner.size and outer.target == inner.target * inner.size
    if outer.limited == inner.limited == -1:
        return together
    return together and outer.limited == inner.limited and outer.weight == inner.weight * inner.size
