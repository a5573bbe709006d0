"""Where L2 buffers lie: split over memory tiles along the coordinate that their readers split them by. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.nest import COLUMN, L1, ROW, BufferInfo, Dimension, Factor, Nest, Transfer, row_major, walk


@dataclass(frozen=True)
class Part:
    """How an L2 buffer is divided: along `coordinate`, in dimension `axis` (None: every place has a whole copy).

    Parts begin `step` indices apart. They are longer than that where neighbours read the same indices, a halo: then
    each has its own copy of those.
    """

    coordinate: str
    axis: int | None
    shape: tuple[int, ...]
    count: int
    step: int = 0


def part_of(buffer: BufferInfo, nest: Nest) -> Part:
    """The division of an L2 buffer, from how the cores address it.

    Results are gathered by columns. What follows the row alone is divided by rows; everything else by columns. What all
    cores of a single row read is one copy for them all, unless that takes a lane that streams by columns need: the
    strategy knows it (`Mapping.goes_by_rows`).
    """
    ends = list(_core_ends(buffer, nest))
    outward = any(end.is_outward for end in ends)
    follows = {name for end in ends for name in (ROW, COLUMN) if end.offset.coefficient(name)}
    coordinate = ROW if follows == {ROW} and not outward else COLUMN
    if not follows and not outward and nest.grid[0] == 1:
        is_one_copy = nest.grid[1] > 1 and _streams_by_columns(nest) < 2
        coordinate = ROW if is_one_copy or _is_lhs(buffer, nest) else COLUMN
    count = nest.grid[0] if coordinate == ROW else nest.grid[1]
    steps = {end.offset.coefficient(coordinate) for end in ends}
    if steps <= {0} or count == 1:
        return Part(coordinate, None, buffer.shape, count)
    axis, step = _axis(buffer, steps, count)
    size = max(end.reach(axis, coordinate) for end in ends)
    if outward and size > step:
        text = f"parts of {buffer.name} are {step} indices apart, and cores that write it reach {size}"
        hint = "let cores write parts that don't overlap, and hand over halos through L3"
        raise InputError(Diagnostic(Severity.ERROR, f"{text}; hint: {hint}", buffer.location))
    shape = tuple(size if d == axis else whole for d, whole in enumerate(buffer.shape))
    return Part(coordinate, axis, shape, count, step)


def _streams_by_columns(nest: Nest) -> int:
    """How many buffers bring every column something of its own."""
    moved = (s.source.buffer for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.target.buffer.space == L1)
    buffers = dict.fromkeys(moved)
    return sum(any(end.offset.coefficient(COLUMN) for end in _core_ends(buffer, nest)) for buffer in buffers)


@dataclass(frozen=True)
class _CoreEnd:
    """Where a transfer from or to the cores touches a buffer, and how it goes on from there."""

    buffer: BufferInfo
    offset: Affine
    steps: tuple[tuple[int, int], ...]
    is_outward: bool
    trips: Mapping[str, int]

    def reach(self, axis: int, coordinate: str) -> int:
        """One more than the largest index along an axis, for everything but the coordinate."""
        strides = row_major(self.buffer.shape)
        last = digits(self.offset.constant, strides)[axis]
        for name, coefficient in self.offset.terms:
            if name != coordinate:
                last += max(0, digits(coefficient, strides)[axis] * (self.trips[name] - 1))
        return 1 + last + sum(digits(stride, strides)[axis] * (size - 1) for size, stride in self.steps)


def _core_ends(buffer: BufferInfo, nest: Nest) -> Iterator[_CoreEnd]:
    """How transfers from and to the cores touch the buffer."""
    for statement, around in walk(nest.body):
        if not isinstance(statement, Transfer):
            continue
        trips = {loop.counter: loop.trips for loop in around}
        factors = [factor for dimension in statement.dimensions for factor in dimension.factors]
        if statement.source.buffer is buffer and statement.target.buffer.space == L1:
            steps = tuple((f.size, f.source_stride) for f in factors)
            yield _CoreEnd(buffer, statement.source.offset, steps, False, trips)
        if statement.target.buffer is buffer and statement.source.buffer.space == L1:
            steps = tuple((f.size, f.target_stride) for f in factors)
            yield _CoreEnd(buffer, statement.target.offset, steps, True, trips)


def _is_lhs(buffer: BufferInfo, nest: Nest) -> bool:
    """Whether the buffer feeds the left operand of a matmul."""
    fed = {
        s.target.buffer
        for s, _ in walk(nest.body)
        if isinstance(s, Transfer) and s.source.buffer is buffer and s.target.buffer.space == L1
    }
    kernels = [s for s, _ in walk(nest.body) if not isinstance(s, Transfer) and getattr(s, "kind", "") == "matmul"]
    return any(kernel.reads[0] in fed for kernel in kernels)  # type: ignore[union-attr]


def _axis(buffer: BufferInfo, steps: set[int], count: int) -> tuple[int, int]:
    """The dimension along which parts lie apart, and by how many indices."""
    (distance, *others) = sorted(steps)
    for d, (size, stride) in enumerate(zip(buffer.shape, row_major(buffer.shape))):
        step = distance // stride
        if not others and distance == step * stride and 0 < step * (count - 1) < size:
            return d, step
    text = f"{buffer.name} of shape {buffer.shape} is not divided evenly over {count} places (steps {sorted(steps)})"
    hint = "let cores' parts be equally far apart in one dimension"
    raise InputError(Diagnostic(Severity.ERROR, f"{text}; hint: {hint}", buffer.location))


def digits(elements: int, strides: Sequence[int]) -> list[int]:
    """A distance in elements as so many steps of each dimension, the outermost first."""
    sign, rest, found = (-1 if elements < 0 else 1), abs(elements), []
    for stride in strides:
        found.append(sign * (rest // stride))
        rest %= stride
    return found


@dataclass(frozen=True)
class Relayout:
    """Addresses in a whole buffer to addresses in one of its parts."""

    old: tuple[int, ...]
    new: tuple[int, ...]

    @staticmethod
    def to_part(buffer: BufferInfo, part: Part) -> Relayout:
        return Relayout(row_major(buffer.shape), row_major(part.shape))

    def distance(self, elements: int) -> int:
        return sum(digit * stride for digit, stride in zip(digits(elements, self.old), self.new))

    def offset(self, offset: Affine) -> Affine:
        terms = tuple((name, self.distance(c)) for name, c in offset.terms)
        return Affine(self.distance(offset.constant)) + Affine(0, tuple(t for t in terms if t[1]))


def divide(transfer: Transfer, buffer: BufferInfo, part: Part) -> Transfer:
    """A transfer between L3 and a whole L2 buffer, restricted to the part at `part.coordinate`."""
    inward = transfer.target.buffer is buffer
    layout = Relayout.to_part(buffer, part)
    outer = transfer.source if inward else transfer.target
    inner = transfer.target if inward else transfer.source
    axis = _Axis.of(transfer, buffer, part)
    dimensions = []
    for number, dimension in enumerate(transfer.dimensions):
        own = axis.divide(dimension) if axis is not None and number == axis.dimension else dimension
        dimensions.append(in_layout(own, inward, layout))
    if axis is not None:
        outer = replace(outer, offset=outer.offset + axis.begin * axis.other)
        inner = replace(inner, offset=inner.offset - axis.before * axis.own)
    inner = replace(inner, offset=layout.offset(inner.offset))
    source, target = (outer, inner) if inward else (inner, outer)
    return replace(transfer, source=source, target=target, dimensions=tuple(dimensions))


@dataclass(frozen=True)
class _Axis:
    """Which dimension of a transfer goes along the axis that a buffer is divided along, and in which factor.

    That steps by `own` elements in the buffer, and by `other` at the transfer's other end; the transfer's first index
    is the buffer's `before`.
    """

    part: Part
    dimension: int
    factor: int
    own: int
    other: int
    before: int

    @property
    def begin(self) -> Affine:
        """Which of the transfer's indices is a part's first."""
        return Affine.counter(self.part.coordinate, self.part.step, -self.before)

    @staticmethod
    def of(transfer: Transfer, buffer: BufferInfo, part: Part) -> _Axis | None:
        """None where the buffer isn't divided; raises InputError where the transfer fills just a piece of the axis."""
        if part.axis is None:
            return None
        inward = transfer.target.buffer is buffer
        whole, strides = buffer.shape[part.axis], row_major(buffer.shape)
        begun = digits((transfer.target if inward else transfer.source).offset.constant, strides)[part.axis]
        for number, dimension in enumerate(transfer.dimensions):
            for index, factor in enumerate(dimension.factors):
                own, other = factor.target_stride, factor.source_stride
                if not inward:
                    own, other = other, own
                if own == strides[part.axis] and factor.size == whole:
                    return _Axis(part, number, index, own, other, begun)
        text = f"{buffer.name} is divided along dimension {part.axis}, of which a transfer moves less than all {whole}"
        hint = "move all of it at once"
        raise InputError(Diagnostic(Severity.ERROR, f"{text}; hint: {hint}", transfer.location))

    def divide(self, dimension: Dimension) -> Dimension:
        factor = dimension.factors[self.factor]
        moved = self.begin * factor.weight
        own = replace(factor, size=self.part.shape[self.part.axis or 0])
        factors = (*dimension.factors[: self.factor], own, *dimension.factors[self.factor + 1 :])
        limit = None if dimension.limit is None else dimension.limit - moved
        lower = Affine() if dimension.lower is None and self.before else dimension.lower
        return Dimension(factors, limit, None if lower is None else lower - moved)


def in_layout(dimension: Dimension, inward: bool, layout: Relayout) -> Dimension:
    """The dimension with its strides in the part."""
    factors = []
    for f in dimension.factors:
        source = f.source_stride if inward else layout.distance(f.source_stride)
        target = layout.distance(f.target_stride) if inward else f.target_stride
        factors.append(Factor(f.size, f.weight, source, target))
    return replace(dimension, factors=tuple(factors))


def localise(transfer: Transfer, buffer: BufferInfo, part: Part) -> Transfer:
    """A transfer between a core and a whole L2 buffer, as one with the core's part."""
    layout = Relayout.to_part(buffer, part)
    outward = transfer.target.buffer is buffer
    end = transfer.target if outward else transfer.source
    dropped = Affine(0, tuple(t for t in end.offset.terms if t[0] == part.coordinate and part.axis is not None))
    end = replace(end, offset=layout.offset(end.offset - dropped))
    dimensions = tuple(in_layout(dimension, outward, layout) for dimension in transfer.dimensions)
    ends = (transfer.source, end) if outward else (end, transfer.target)
    return replace(transfer, source=ends[0], target=ends[1], dimensions=dimensions)
