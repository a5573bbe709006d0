"""The flat program that the simulator runs: who holds what, who moves what, and each engine's list of steps.

Everything is referred to by name, so a program reads like what it describes:

    FlatEngine(
        "core",
        body=(
            FlatLoop(8, (
                FlatAcquire("a.full"),
                FlatCompute("matmul", cycles=64, operands=(read("a", (16, 16), slot=FlatAffine(0, (1,))), ...)),
                FlatRelease("a.empty"),
            )),
        ),
    )

Loops stay loops: offsets and slots are affine in the counters of the loops around a step, the outermost first. See
docs/simulator.md for what each thing means and costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import prod
from typing import ClassVar, TypeAlias

from npuflow.target.hashed_once import hashed_once


@dataclass(frozen=True)
class FlatAffine:
    """`constant + sum(coefficients[d] * counter of the loop at depth d)`, the outermost loop being depth 0."""

    constant: int = 0
    coefficients: tuple[int, ...] = ()


@dataclass(frozen=True)
class FlatMemory:
    """A separate piece of storage: one core's L1, one memory tile, or one tensor in DRAM. Level 1 is the cores' own.

    What a DMA engine beside DRAM moves to or from one that `is_near`, on the chip, takes neither the engine's ports nor
    its latency, which are DRAM's.
    """

    name: str
    level: int
    bytes: int
    is_near: bool = False


@dataclass(frozen=True)
class FlatBuffer:
    """`depth` slots in a memory, one after the other; `tensor` says whose data it holds, for reports."""

    name: str
    memory: str
    slot_bytes: int
    address_bytes: int = 0
    depth: int = 1
    tensor: str = ""


class Cause(Enum):
    """Where an engine's time goes. A semaphore has one of the last four: what a wait for it is a wait for."""

    KERNEL = "kernel"
    TRANSFER = "transfer"
    CONTROL = "control"
    START = "start"
    CONTENTION = "contention"
    PARTNER = "partner"
    DATA = "data"
    SPACE = "space"
    TASK = "task"
    OTHER = "other"


WAIT_CAUSES = (Cause.DATA, Cause.SPACE, Cause.TASK, Cause.OTHER)


@dataclass(frozen=True)
class FlatSemaphore:
    """A counting lock: acquire waits until it can subtract, first come, first served; release adds."""

    name: str
    initial: int = 0
    maximum: int = 63
    cause: Cause = Cause.OTHER


@dataclass(frozen=True)
class Resource:
    """A rate that transfers share fairly."""

    name: str
    bytes_per_cycle: float


@dataclass(frozen=True)
class FlatStream:
    """A wire from one engine to others (several: a multicast) that takes up `links` on its way."""

    name: str
    sender: str
    receivers: tuple[str, ...]
    links: tuple[str, ...] = ()
    latency_cycles: int = 0


@dataclass(frozen=True)
class FlatLimit:
    """The element at index i exists where `sum(coefficients[d] * i[d]) < bound`."""

    coefficients: tuple[int, ...]
    bound: FlatAffine


class Outside(Enum):
    """Elements outside the limits: not part of the transfer, or zeros when read and dropped when written."""

    SKIP = "skip"
    ZERO = "zero"


@dataclass(frozen=True)
class FlatAccess:
    """Elements of one slot of a buffer in the order they travel; sizes and strides in elements, outermost first.

    `slot` counts turns; the slot is its remainder by the buffer's depth. On the first of its engine's ports, a run of r
    contiguous bytes takes r + `run_overhead_bytes`.
    """

    buffer: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int
    offset: FlatAffine = FlatAffine()
    slot: FlatAffine = FlatAffine()
    limits: tuple[FlatLimit, ...] = ()
    outside: Outside = Outside.SKIP
    run_overhead_bytes: float = 0.0

    def going(
        self, sizes: tuple[int, ...], strides: tuple[int, ...], offset: FlatAffine, limits: tuple[FlatLimit, ...]
    ) -> FlatAccess:
        """The same of other elements: what there are many of takes too long with `replace`."""
        what = self.slot, limits, self.outside, self.run_overhead_bytes
        return FlatAccess(self.buffer, sizes, strides, self.element_bytes, offset, *what)

    @property
    def bytes(self) -> int:
        """What travels if no limit cuts anything off."""
        return prod(self.sizes) * self.element_bytes


@dataclass(frozen=True)
class FlatLoop:
    """Its body `count` times; 0 is never."""

    kind: ClassVar[str] = "loop"
    count: int
    body: tuple[FlatStep, ...]


@dataclass(frozen=True)
class FlatAcquire:
    """Waits until the semaphore is at least `count`, then subtracts it."""

    kind: ClassVar[str] = "acquire"
    semaphore: str
    count: int = 1


@dataclass(frozen=True)
class FlatRelease:
    """Adds `count` to the semaphore, above whose maximum it must not come."""

    kind: ClassVar[str] = "release"
    semaphore: str
    count: int = 1


@dataclass(frozen=True)
class FlatSend:
    """One end of a transfer: the engine reads `access` onto the stream."""

    kind: ClassVar[str] = "send"
    stream: str
    access: FlatAccess
    name: str = ""


@dataclass(frozen=True)
class FlatReceive:
    """The other end: the engine writes what the stream brings to `access`."""

    kind: ClassVar[str] = "receive"
    stream: str
    access: FlatAccess
    name: str = ""


@dataclass(frozen=True)
class FlatOperand:
    """What a kernel does with one of its arguments.

    With `apart` its rows lie apart in a larger tensor, which its engine steps through; the kernel knows one piece.
    """

    access: FlatAccess
    reads: bool = True
    writes: bool = False
    apart: bool = False


@dataclass(frozen=True)
class FlatCompute:
    """One call of a kernel; its operands are its own from its begin to its end."""

    kind: ClassVar[str] = "compute"
    kernel: str
    cycles: int
    operands: tuple[FlatOperand, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class FlatControl:
    """Time that an engine spends on itself: setting up a descriptor, launching, being reconfigured."""

    kind: ClassVar[str] = "control"
    cycles: int
    name: str = "control"


FlatStep: TypeAlias = FlatLoop | FlatAcquire | FlatRelease | FlatSend | FlatReceive | FlatCompute | FlatControl


CORE_TILE = "tile"
# What the control processor begins with.
LAUNCH = "launch"


@hashed_once
@dataclass(frozen=True)
class FlatEngine:
    """Something that does one thing at a time: a core, a DMA channel, the control processor.

    `kind` groups like engines in reports; `place` says what it stands in: `CORE_TILE` at a `tile`'s row and column, or
    else what there is one of for a column. `ports` are the resources each of its transfers uses at this end (its
    memory's port, DRAM); `start_cycles` come before each transfer; `latency_cycles` pass from asking to the first byte
    when a sender was idle so long.
    """

    name: str
    body: tuple[FlatStep, ...]
    kind: str = ""
    tile: tuple[int, int] | None = None
    bytes_per_cycle: float = 1.0
    ports: tuple[str, ...] = ()
    start_cycles: int = 0
    latency_cycles: int = 0
    place: str = ""

    @cached_property
    def step_kinds(self) -> frozenset[type[FlatStep]]:
        """What kinds of steps it takes, within loops as well."""
        return frozenset(map(type, _steps_of(self.body)))

    @cached_property
    def acquired(self) -> frozenset[str]:
        """The semaphores that it waits for."""
        return frozenset(step.semaphore for step in _steps_of(self.body) if isinstance(step, FlatAcquire))

    @cached_property
    def moved_buffers(self) -> frozenset[str]:
        """The buffers that it sends or receives anything of."""
        return frozenset(s.access.buffer for s in _steps_of(self.body) if isinstance(s, FlatSend | FlatReceive))


def _steps_of(body: tuple[FlatStep, ...]) -> Iterator[FlatStep]:
    """All steps, those of loops behind these."""
    for step in body:
        yield step
        if isinstance(step, FlatLoop):
            yield from _steps_of(step.body)


@dataclass(frozen=True)
class Program:
    """A whole schedule; names are unique among things of one kind."""

    engines: tuple[FlatEngine, ...]
    memories: tuple[FlatMemory, ...] = ()
    buffers: tuple[FlatBuffer, ...] = ()
    semaphores: tuple[FlatSemaphore, ...] = ()
    resources: tuple[Resource, ...] = ()
    streams: tuple[FlatStream, ...] = ()
    clock_hz: float = 1e9


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides: `(2, 3, 4)` to `(12, 4, 1)`."""
    return tuple(prod(sizes[d + 1 :]) for d in range(len(sizes)))


def contiguous(buffer: str, sizes: tuple[int, ...], element_bytes: int, slot: FlatAffine = FlatAffine()) -> FlatAccess:
    """The first elements of a buffer's slot, in row-major order."""
    return FlatAccess(buffer, sizes, contiguous_strides(sizes), element_bytes, slot=slot)
