"""L2 buffers that hold what exists, where zeros around it are inserted on the way out of L2. Pure.

Zeros of a padding come in with the transfer that fills an L2 buffer. Where out-channels of memory tiles insert zeros,
the buffer needs no room for them: it is as large as the largest of its clipped contents, and each reader inserts the
zeros of its own piece. What an index of the buffer's part stands for must still be affine in the loop counters, so
contents begin at a `shift` that is: the first index that any of them has, that of each where there are two, or the
first of a tensor that is shorter than all of these, which then is stored whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import (
    L3,
    Allocate,
    BufferInfo,
    Dimension,
    Factor,
    Loop,
    Nest,
    Transfer,
    row_major,
    walk,
)
from npuflow.schedule.project.layout import Part, Relayout, digits, divide, in_layout, localise


@dataclass(frozen=True)
class Axis:
    """A dimension of a part: `size` indices from `shift` on are stored.

    Below `lower` and from `limit` on none exist.
    """

    size: int
    shift: Affine
    lower: Affine | None = None
    limit: Affine | None = None

    @property
    def is_limited(self) -> bool:
        return self.limit is not None or self.lower is not None

    def bounds_within(self, whole: int, trips: Mapping[str, int]) -> list[tuple[int, Affine]]:
        """The bounds that some of `whole` indices are beyond, as (sign, bound): sign * index < bound."""
        kept = Dimension((Factor(whole, 1, 1, 1),), self.limit, self.lower).without_idle_bounds(trips)
        above = [] if kept.limit is None else [(1, kept.limit)]
        return above if kept.lower is None else [*above, (-1, kept.lower * -1 + 1)]

    def bounded(self, factors: tuple[Factor, ...], begin: Affine) -> Dimension:
        """Factors that go along the axis from `begin` on, as far as it exists."""
        limit, lower = (None if bound is None else bound - begin for bound in (self.limit, self.lower))
        return Dimension(factors, limit, lower)


@dataclass(frozen=True)
class Clip:
    """What is stored of an L2 part; `trips` are those of all loops and coordinates."""

    part: Part
    axes: tuple[Axis, ...]
    trips: Mapping[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    def written(self, divided: Transfer) -> Transfer:
        """The transfer that fills the part, without zeros."""
        source, filled = divided.source, _filled_axes(divided, self.part.shape)
        dimensions = []
        for dimension in divided.dimensions:
            if not dimension.is_limited:
                dimensions.append(dimension)
                continue
            axis, (factor,) = self.axes[filled.pop(0)], dimension.factors
            source = replace(source, offset=source.offset + axis.shift * factor.source_stride)
            dimensions.append(axis.bounded((replace(factor, size=axis.size),), axis.shift))
        moved = (in_layout(dimension, True, self._layout()) for dimension in dimensions)
        return replace(divided, source=source, dimensions=self._kept(moved), pads=False)

    def can_read(self, local: Transfer) -> bool:
        """Whether a transfer goes along each limited dimension of the part with one of its own, and along no other."""
        bounded: list[int] = []
        for dimension in local.dimensions:
            along = self._along(dimension)
            limited = [d for d in along if self.axes[d].is_limited]
            if limited and (dimension.is_limited or len(along) > 1):
                return False
            bounded += limited
        return len(set(bounded)) == len(bounded)

    def read(self, local: Transfer) -> Transfer:
        """A transfer from the part to a core, which inserts the zeros."""
        begins, layout = self._begins(local.source.offset), self._layout()
        missing = [d for d, axis in enumerate(self.axes) if axis.is_limited]
        dimensions = []
        for dimension in local.dimensions:
            bounded = self._along(dimension) & set(missing)
            for d in bounded:
                factors = tuple(replace(factor, weight=self._digits(factor).get(d, 1)) for factor in dimension.factors)
                dimensions.append(in_layout(self.axes[d].bounded(factors, begins[d]), False, layout))
                missing.remove(d)
            if not bounded:
                dimensions.append(in_layout(dimension, False, layout))
        dimensions += [self.axes[d].bounded((Factor(1, 1, 1, 1),), begins[d]) for d in missing]
        offset = Affine()
        for begin, axis, stride in zip(begins, self.axes, row_major(self.shape)):
            offset = offset + (begin - axis.shift) * stride
        source = replace(local.source, offset=offset)
        return replace(local, source=source, dimensions=self._kept(dimensions), pads=True)

    def _layout(self) -> Relayout:
        return Relayout(row_major(self.part.shape), row_major(self.shape))

    def _digits(self, factor: Factor) -> dict[int, int]:
        """The dimensions of the part that a factor steps along, if it steps at all, and how far in each."""
        steps = digits(factor.source_stride, row_major(self.part.shape)) if factor.size > 1 else []
        return {d: step for d, step in enumerate(steps) if step}

    def _along(self, dimension: Dimension) -> set[int]:
        """The dimensions of the part that a transfer's dimension steps along."""
        return {d for factor in dimension.factors for d in self._digits(factor)}

    def _begins(self, offset: Affine) -> list[Affine]:
        """An offset in the part as an index of each of its dimensions."""
        strides = row_major(self.part.shape)
        begins = [Affine(digit) for digit in digits(offset.constant, strides)]
        for name, coefficient in offset.terms:
            steps = digits(coefficient, strides)
            begins = [begin + Affine.counter(name, step) for begin, step in zip(begins, steps)]
        return begins

    def _kept(self, dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
        needed = (dimension.without_idle_bounds(self.trips) for dimension in dimensions)
        return tuple(d for d in needed if d.extent != 1 or d.is_limited)


def clip_of(buffer: BufferInfo, nest: Nest, part: Part) -> Clip | None:
    """How an L2 buffer is clipped; None where it has no zeros, or its readers could not tell where they are."""
    known = {*counters_around(buffer, nest), *([part.coordinate] if part.axis is not None else [])}
    clip = clip_filled(buffer, nest, part, known)
    if clip is None:
        return None
    readers = [s for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.source.buffer is buffer]
    return clip if all(clip.can_read(localise(reader, buffer, part)) for reader in readers) else None


def clip_filled(buffer: BufferInfo, nest: Nest, part: Part, known: set[str]) -> Clip | None:
    """What is stored of a buffer that a transfer fills with zeros around it; None where it has none.

    Nobody could tell where they are if other counters than those that are `known` to who reads a slot decided that.
    """
    writers = [s for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.target.buffer is buffer]
    if len(writers) != 1 or not writers[0].pads or writers[0].source.buffer.space != L3:
        return None
    writer = divide(writers[0], buffer, part)
    limited = [dimension for dimension in writer.dimensions if dimension.is_limited]
    filled = _filled_axes(writer, part.shape)
    if writer.target.offset != Affine() or not limited or len(filled) < len(limited):
        return None
    if any(bound.counters - known for dimension in limited for bound in dimension.bounds):
        return None
    trips = {s.counter: s.trips for s, _ in walk(nest.body) if isinstance(s, Loop)}
    axes = [Axis(size, Affine()) for size in part.shape]
    for d, dimension in zip(filled, limited):
        axes[d] = _clipped(dimension, trips)
    return Clip(part, tuple(axes), trips)


def _filled_axes(writer: Transfer, shape: tuple[int, ...]) -> list[int]:
    """The dimensions of a part that the limited ones of a transfer fill, as far as each fills one alone."""
    found: list[int] = []
    for dimension in writer.dimensions:
        if not dimension.is_limited:
            continue
        (factor, *others), strides = dimension.factors, row_major(shape)
        alike = [d for d, size in enumerate(shape) if (size, strides[d]) == (factor.size, factor.target_stride)]
        own = next((d for d in alike if d not in found), None)
        if own is None or others or factor.weight != 1:
            break
        found.append(own)
    return found


def counters_around(buffer: BufferInfo, nest: Nest) -> set[str]:
    """The counters of time that stand still while a slot of the buffer is in use."""
    around = next(loops for s, loops in walk(nest.body) if isinstance(s, Allocate) and s.buffer is buffer)
    return {loop.counter for loop in around if not loop.grid}


def _clipped(dimension: Dimension, trips: Mapping[str, int]) -> Axis:
    """What is stored along a dimension of so many indices: the fewest indices over all ways to begin."""
    whole, lower, limit = dimension.extent, dimension.lower, dimension.limit
    first = 0 if lower is None else min(whole, max(0, lower.minimum(trips)))
    last = whole if limit is None else max(first, min(whole, limit.maximum(trips)))
    options = [Axis(last - first, Affine(first), lower, limit)]
    if lower is not None:
        end = Affine(whole) if limit is None else limit
        options += _each_of_two(dimension, lower, end, trips)
        options.append(Axis((end - lower).maximum(trips), lower, lower, limit))
    return replace(best := min(options, key=lambda axis: axis.size), size=max(1, best.size))


def _each_of_two(dimension: Dimension, lower: Affine, end: Affine, trips: Mapping[str, int]) -> list[Axis]:
    """Each of two contents from its own first index on; none where there are more of them, or just one."""
    counters = [name for name in lower.counters | end.counters if trips[name] > 1]
    if len(counters) != 1 or trips[counters[0]] != 2:
        return []
    (counter,) = counters
    turns = [
        {name: Affine(turn if name == counter else 0) for name in lower.counters | end.counters} for turn in (0, 1)
    ]
    begins = [min(dimension.extent, max(0, lower.substitute(turn).constant)) for turn in turns]
    ends = [max(b, min(dimension.extent, end.substitute(turn).constant)) for b, turn in zip(begins, turns)]
    begin, behind = (Affine.counter(counter, both[1] - both[0], both[0]) for both in (begins, ends))
    return [Axis(max(e - b for b, e in zip(begins, ends)), begin, begin, behind)]
