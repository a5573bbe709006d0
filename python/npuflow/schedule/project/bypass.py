"""Nests for machines without L2: what goes through a buffer there goes between L3 and L1 at once. Pure.

    for block                                  for block
      allocate a2 in L2                          for k
      L3 to a2                                     allocate a1 in L1
      for k                                        L3 to a1
        allocate a1 in L1
        a2 to a1

Where a piece lies in the buffer says where it lies in L3, along the dimensions that the whole was moved by; bounds of
the whole bound its pieces. A buffer may be moved in and out: a sum that is continued comes from L3 and goes there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import (
    COLUMN,
    L2,
    L3,
    Allocate,
    BufferInfo,
    Dimension,
    End,
    Factor,
    Loop,
    Nest,
    Statement,
    Transfer,
    row_major,
    walk,
)
from npuflow.schedule.project.clip import Axis, Clip
from npuflow.schedule.project.layout import Part, Relayout, in_layout


def bypass_l2(nest: Nest) -> None:
    """Takes the buffers in L2 out of a nest, in place; raises InputError for one that can't be gone around."""
    trips = {s.counter: s.trips for s, _ in walk(nest.body) if isinstance(s, Loop)}
    ways: _Ways = {}
    for statement, _ in walk(nest.body):
        if isinstance(statement, Transfer) and L3 in (statement.source.buffer.space, statement.target.buffer.space):
            for buffer in (statement.source.buffer, statement.target.buffer):
                if buffer.space == L2:
                    key = (buffer, statement.target.buffer is buffer)
                    if key in ways:
                        direction = "from" if key[1] else "to"
                        raise _error(buffer, f"is moved {direction} L3 by several transfers", statement)
                    ways[key] = _Way.of(buffer, statement, trips)
    nest.body[:] = _without(nest.body, ways)


def _error(buffer: BufferInfo, what: str, transfer: Transfer) -> InputError:
    text = f"{buffer.name} {what}, and the device has no L2; hint: use npuflow-stream-k, which moves blocks as a whole"
    return InputError(Diagnostic(Severity.ERROR, text, transfer.location))


def _without(body: list[Statement], ways: _Ways) -> list[Statement]:
    kept: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            statement.body[:] = _without(statement.body, ways)
            kept += [statement] if statement.body else []
        elif isinstance(statement, Transfer):
            spaces = (statement.source.buffer.space, statement.target.buffer.space)
            if L3 in spaces and L2 in spaces:
                continue
            through = next((e.buffer for e in (statement.source, statement.target) if e.buffer.space == L2), None)
            is_inward = through is statement.source.buffer
            if through is not None and (through, is_inward) not in ways:
                direction = "from" if is_inward else "to"
                raise _error(through, f"isn't moved {direction} L3", statement)
            kept.append(statement if through is None else ways[through, is_inward].piece(statement))
        elif not isinstance(statement, Allocate) or statement.buffer.space != L2:
            kept.append(statement)
    return kept


@dataclass(frozen=True)
class _Way:
    """How a whole buffer is moved: what lies where in L3, and what of it exists."""

    clip: Clip
    outer: End
    layout: Relayout
    pads: bool
    is_inward: bool

    @staticmethod
    def of(buffer: BufferInfo, whole: Transfer, trips: Mapping[str, int]) -> _Way:
        is_inward = whole.target.buffer is buffer
        moved = whole if is_inward else _turned(whole)
        if moved.target.offset != Affine():
            raise _error(buffer, "is filled from its middle on", whole)
        axes = [Axis(size, Affine()) for size in buffer.shape]
        strides = [0] * len(axes)
        for dimension in moved.dimensions:
            d, factor = _axis_of(dimension, buffer, strides, whole)
            strides[d] = factor.source_stride
            axes[d] = replace(axes[d], lower=dimension.lower, limit=dimension.limit)
        clip = Clip(Part(COLUMN, None, buffer.shape, 1), tuple(axes), trips)
        layout = Relayout(row_major(buffer.shape), tuple(strides))
        return _Way(clip, moved.source, layout, whole.pads, is_inward)

    def piece(self, transfer: Transfer) -> Transfer:
        """A transfer between the buffer and L1, as one between L3 and L1."""
        local = transfer if self.is_inward else _turned(transfer)
        if not self.clip.can_read(local):
            raise _error(local.source.buffer, "has an edge that pieces go along with others", transfer)
        if any(axis.is_limited for axis in self.clip.axes):
            local = replace(self.clip.read(local), pads=self.pads)
        offset = self.outer.offset + self.layout.offset(local.source.offset)
        dimensions = tuple(in_layout(dimension, False, self.layout) for dimension in local.dimensions)
        moved = replace(local, source=End(self.outer.buffer, offset), dimensions=dimensions)
        if self.is_inward:
            return moved
        # Results lie in L1 as instructions made them: what exists of them is no box there.
        is_box = all(len(dimension.factors) == 1 for dimension in dimensions if dimension.is_limited)
        return replace(_turned(moved), drops=not is_box)


# The ways of buffers, from L3 (True) and to it.
_Ways = dict[tuple[BufferInfo, bool], _Way]


def _axis_of(dimension: Dimension, buffer: BufferInfo, taken: list[int], whole: Transfer) -> tuple[int, Factor]:
    """The dimension of a buffer that one of a transfer fills, all of it."""
    if len(dimension.factors) == 1 and dimension.factors[0].weight == 1:
        (factor,) = dimension.factors
        for d, (size, stride) in enumerate(zip(buffer.shape, row_major(buffer.shape))):
            if (size, stride) == (factor.size, factor.target_stride) and not taken[d]:
                return d, factor
    raise _error(buffer, "is filled in pieces", whole)


def _turned(transfer: Transfer) -> Transfer:
    """The same movement the other way."""
    dimensions = []
    for dimension in transfer.dimensions:
        factors = tuple(Factor(f.size, f.weight, f.target_stride, f.source_stride) for f in dimension.factors)
        dimensions.append(replace(dimension, factors=factors))
    return replace(transfer, source=transfer.target, target=transfer.source, dimensions=tuple(dimensions))
