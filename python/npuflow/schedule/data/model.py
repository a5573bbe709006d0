"""A schedule as plain data: buffers, semaphores, streams, and one program per kind of engine. Pure.

Like engines are written once, with coordinates: `row` and `column` of the grid, or `tile`, the place of a memory tile.
A `Ref` names one of like things by its coordinates. Each coordinate ranges over `Schedule.extents`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from npuflow.errors import SourceLocation
from npuflow.schedule.data.affine import Affine
from npuflow.target import KernelClass, Stage

Coordinates = tuple[str, ...]


@dataclass(frozen=True)
class Ref:
    """One of like things: its name, and its coordinates as sums of the referring engine's."""

    name: str
    at: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Address:
    """base + step * (coordinate floordiv divisor) bytes; the coordinate is the buffer's only one."""

    base: int = 0
    step: int = 0
    divisor: int = 1

    def at(self, value: int) -> int:
        return self.base + self.step * (value // self.divisor)


@dataclass(frozen=True)
class Buffer:
    """`depth` slots of a shape, one such buffer for every combination of `span`; L3 buffers have none."""

    name: str
    level: int
    span: Coordinates
    shape: tuple[int, ...]
    element_type: str
    element_bytes: int
    depth: int = 1
    address: Address = Address()
    location: SourceLocation | None = None

    @property
    def slot_bytes(self) -> int:
        size = self.element_bytes
        for extent in self.shape:
            size *= extent
        return size


@dataclass(frozen=True)
class Semaphore:
    """What one engine waits for and another gives: a filled or an emptied slot, a task, a completion.

    `locks` are the numbers of those that lie in one memory, in the order of their coordinates; none of tasks.
    """

    name: str
    span: Coordinates
    initial: int
    maximum: int
    cause: str
    location: SourceLocation | None = field(default=None, compare=False)
    locks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stream:
    """A path from the sender of given coordinates to all receivers that agree with it in the coordinates they share."""

    name: str
    span: Coordinates
    sender: str
    receiver: str
    multicast: Coordinates = ()
    location: SourceLocation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Limit:
    """An element exists where sum(weights[d] * index[d]) < bound."""

    weights: tuple[int, ...]
    bound: Affine


@dataclass(frozen=True)
class Access:
    """Elements of one slot of a buffer in the order they travel; outermost dimension first."""

    buffer: Ref
    slot: Affine
    offset: Affine
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    limits: tuple[Limit, ...] = ()
    zeros: bool = False


@dataclass(frozen=True)
class Acquire:
    """Waits until the semaphore has a unit, and takes it."""

    semaphore: Ref
    location: SourceLocation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Release:
    """Gives the semaphore a unit."""

    semaphore: Ref
    location: SourceLocation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Descriptors:
    """Which ones a transfer takes: `count` from `first` on, for each of the engine's channels beside one memory."""

    first: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class Send:
    """Reads what the access covers and puts it on the stream."""

    stream: Ref
    access: Access
    location: SourceLocation | None = None
    descriptors: Descriptors | None = None


@dataclass(frozen=True)
class Receive:
    """Takes from the stream what the access covers, and writes it."""

    stream: Ref
    access: Access
    location: SourceLocation | None = None
    descriptors: Descriptors | None = None


@dataclass(frozen=True)
class Operand:
    """What a kernel does with one of its buffers."""

    access: Access
    reads: bool
    writes: bool


@dataclass(frozen=True)
class Compute:
    """A call of a kernel, by its name; operands in the order of its arguments."""

    kernel: str
    kind: str
    cycles: int
    operands: tuple[Operand, ...]
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Configure:
    """The control processor sets up a transfer and hands it to a shim's queue."""

    descriptors: int


@dataclass(frozen=True)
class Repeat:
    """A loop in time."""

    counter: str
    trips: int
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Each:
    """The same for each value of a coordinate, one after the other."""

    coordinate: str
    count: int
    body: tuple[Step, ...]
    location: SourceLocation | None = field(default=None, compare=False)


Step = Acquire | Release | Send | Receive | Compute | Configure | Repeat | Each


@dataclass(frozen=True)
class Engine:
    """All like engines of a stage and lane: one program, run once for every combination of `span`.

    `channels` are the numbers of those beside one memory, in the order of their coordinates.
    """

    name: str
    stage: Stage
    lane: int
    span: Coordinates
    program: tuple[Step, ...]
    location: SourceLocation | None = field(default=None, compare=False)
    channels: tuple[int, ...] = ()


@dataclass
class Schedule:
    """What the whole array does for one function; arguments, results and constants name L3 buffers.

    `classes` say of kernels which engines they are for; of those by hand it may say nothing.
    """

    name: str
    extents: dict[str, int]
    buffers: dict[str, Buffer] = field(default_factory=dict)
    semaphores: dict[str, Semaphore] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)
    engines: dict[str, Engine] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    classes: dict[str, KernelClass] = field(default_factory=dict)

    def add_buffer(self, buffer: Buffer) -> None:
        self.buffers[buffer.name] = buffer

    def places(self, span: Coordinates) -> Iterator[dict[str, int]]:
        """Every combination of the coordinates in `span`."""
        yield from _combinations(span, self.extents)


def _combinations(span: Coordinates, extents: dict[str, int]) -> Iterator[dict[str, int]]:
    if not span:
        yield {}
        return
    for rest in _combinations(span[:-1], extents):
        for value in range(extents[span[-1]]):
            yield {**rest, span[-1]: value}


def substitute_access(access: Access, values: dict[str, Affine]) -> Access:
    """The access with counters and coordinates replaced."""
    return replace(
        access,
        buffer=substitute_ref(access.buffer, values),
        slot=access.slot.substitute(values),
        offset=access.offset.substitute(values),
        limits=tuple(Limit(limit.weights, limit.bound.substitute(values)) for limit in access.limits),
    )


def substitute_ref(ref: Ref, values: dict[str, Affine]) -> Ref:
    return Ref(ref.name, tuple(index.substitute(values) for index in ref.at))


def substitute_step(step: Step, values: dict[str, Affine]) -> Step:
    """The step with counters and coordinates replaced, in all that is inside of it too."""
    if isinstance(step, (Repeat, Each)):
        return replace(step, body=tuple(substitute_step(one, values) for one in step.body))
    if isinstance(step, (Acquire, Release)):
        return replace(step, semaphore=substitute_ref(step.semaphore, values))
    if isinstance(step, (Send, Receive)):
        stream, access = substitute_ref(step.stream, values), substitute_access(step.access, values)
        return replace(step, stream=stream, access=access)
    if isinstance(step, Compute):
        operands = (replace(each, access=substitute_access(each.access, values)) for each in step.operands)
        return replace(step, operands=tuple(operands))
    return step
