"""Where L2 buffers lie: split over memory tiles along the coordinate that their readers split them by. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.affine import Affine
from npuflow.schedule.nest import COLUMN, L1, ROW, BufferInfo, Dimension, Factor, Nest, Transfer, walk


@dataclass(frozen=True)
class Part:
    """How an L2 buffer is divided: along `coordinate`, in dimension `axis` (None: every place has a whole copy)."""

    coordinate: str
    axis: int | None
    shape: tuple[int, ...]
    count: int


def part_of(buffer: BufferInfo, nest: Nest) -> Part:
    """The division of an L2 buffer, from how the cores address it.

    Results are gathered by columns. What follows the row alone is divided by rows; everything else by columns.
    """
    ends = [end for end, outward in _core_ends(buffer, nest)]
    outward = any(outward for _, outward in _core_ends(buffer, nest))
    follows = {name for end in ends for name in (ROW, COLUMN) if end.coefficient(name)}
    coordinate = ROW if follows == {ROW} and not outward else COLUMN
    if not follows and not outward and nest.grid[0] == 1 and _is_lhs(buffer, nest):
        coordinate = ROW
    count = nest.grid[0] if coordinate == ROW else nest.grid[1]
    steps = {end.coefficient(coordinate) for end in ends}
    if steps <= {0} or count == 1:
        return Part(coordinate, None, buffer.shape, count)
    axis = _axis(buffer, steps, count)
    shape = tuple(size // count if d == axis else size for d, size in enumerate(buffer.shape))
    return Part(coordinate, axis, shape, count)


def _core_ends(buffer: BufferInfo, nest: Nest) -> list[tuple[Affine, bool]]:
    """The offsets at which transfers from (False) and to (True) the cores touch the buffer."""
    found = []
    for statement, _ in walk(nest.body):
        if not isinstance(statement, Transfer):
            continue
        if statement.source.buffer is buffer and statement.target.buffer.space == L1:
            found.append((statement.source.offset, False))
        if statement.target.buffer is buffer and statement.source.buffer.space == L1:
            found.append((statement.target.offset, True))
    return found


def _is_lhs(buffer: BufferInfo, nest: Nest) -> bool:
    """Whether the buffer feeds the left operand of a matmul."""
    fed = {
        id(s.target.buffer)
        for s, _ in walk(nest.body)
        if isinstance(s, Transfer) and s.source.buffer is buffer and s.target.buffer.space == L1
    }
    kernels = [s for s, _ in walk(nest.body) if not isinstance(s, Transfer) and getattr(s, "kind", "") == "matmul"]
    return any(id(kernel.reads[0]) in fed for kernel in kernels)  # type: ignore[union-attr]


def _axis(buffer: BufferInfo, steps: set[int], count: int) -> int:
    """The dimension whose equal parts lie `steps` apart."""
    strides = row_major(buffer.shape)
    for d, (size, stride) in enumerate(zip(buffer.shape, strides)):
        if size % count == 0 and steps == {size // count * stride}:
            return d
    text = f"{buffer.name} of shape {buffer.shape} is not divided evenly over {count} places (steps {sorted(steps)})"
    raise InputError(Diagnostic(Severity.ERROR, f"{text}; hint: make each core's part the same size", buffer.location))


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


@dataclass(frozen=True)
class Relayout:
    """Addresses in a whole buffer to addresses in one of its parts."""

    old: tuple[int, ...]
    new: tuple[int, ...]

    @staticmethod
    def to_part(buffer: BufferInfo, part: Part) -> Relayout:
        return Relayout(row_major(buffer.shape), row_major(part.shape))

    def distance(self, elements: int) -> int:
        """A distance in elements: so many steps of each dimension, the outermost first."""
        sign, rest, total = (-1 if elements < 0 else 1), abs(elements), 0
        for old, new in zip(self.old, self.new):
            total += rest // old * new
            rest %= old
        return sign * total

    def offset(self, offset: Affine) -> Affine:
        terms = tuple((name, self.distance(c)) for name, c in offset.terms)
        return Affine(self.distance(offset.constant)) + Affine(0, tuple(t for t in terms if t[1]))


def divide(transfer: Transfer, buffer: BufferInfo, part: Part) -> Transfer:
    """A transfer between L3 and a whole L2 buffer, restricted to the part at `part.coordinate`."""
    inward = transfer.target.buffer is buffer
    layout = Relayout.to_part(buffer, part)
    stride = row_major(buffer.shape)[part.axis] if part.axis is not None else 0
    outer = transfer.source if inward else transfer.target
    inner = transfer.target if inward else transfer.source
    offset = outer.offset
    dimensions = []
    for dimension in transfer.dimensions:
        divided, step = _divide_dimension(dimension, inward, part, stride, layout)
        offset = offset + Affine.counter(part.coordinate, step)
        dimensions.append(divided)
    outer = replace(outer, offset=offset)
    inner = replace(inner, offset=layout.offset(inner.offset))
    source, target = (outer, inner) if inward else (inner, outer)
    return replace(transfer, source=source, target=target, dimensions=tuple(dimensions))


def _divide_dimension(
    dimension: Dimension, inward: bool, part: Part, stride: int, layout: Relayout
) -> tuple[Dimension, int]:
    """The dimension within a part, and how far apart in L3 two parts begin."""
    factors, step, limit = [], 0, dimension.limit
    for factor in dimension.factors:
        own = factor.target_stride if inward else factor.source_stride
        size = factor.size
        if part.axis is not None and own == stride and size % part.count == 0 and size > 1 and step == 0:
            size //= part.count
            step = size * (factor.source_stride if inward else factor.target_stride)
            if limit is not None:
                limit = limit - Affine.counter(part.coordinate, size * factor.weight)
        moved = layout.distance(own)
        source, target = (factor.source_stride, moved) if inward else (moved, factor.target_stride)
        factors.append(Factor(size, factor.weight, source, target))
    return Dimension(tuple(factors), limit), step


def localise(transfer: Transfer, buffer: BufferInfo, part: Part) -> Transfer:
    """A transfer between a core and a whole L2 buffer, as one with the core's part."""
    layout = Relayout.to_part(buffer, part)
    outward = transfer.target.buffer is buffer
    end = transfer.target if outward else transfer.source
    dropped = Affine(0, tuple(t for t in end.offset.terms if t[0] == part.coordinate and part.axis is not None))
    end = replace(end, offset=layout.offset(end.offset - dropped))
    dimensions = []
    for dimension in transfer.dimensions:
        factors = []
        for f in dimension.factors:
            source = f.source_stride if outward else layout.distance(f.source_stride)
            target = layout.distance(f.target_stride) if outward else f.target_stride
            factors.append(Factor(f.size, f.weight, source, target))
        dimensions.append(replace(dimension, factors=tuple(factors)))
    ends = (transfer.source, end) if outward else (end, transfer.target)
    return replace(transfer, source=ends[0], target=ends[1], dimensions=tuple(dimensions))
