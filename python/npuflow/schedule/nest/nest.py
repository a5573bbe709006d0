"""The bufferized program as a tree of loops and statements over buffers: what projection works on. Pure data.

A transfer runs through an index space. Each logical dimension is split into factors (outermost first) that both sides
stride over in their own way; an index exists where it is within the dimension's bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from npuflow.errors import SourceLocation
from npuflow.ops.padding import Padding
from npuflow.schedule.data.affine import Affine

ROW, COLUMN = "row", "column"

# Memory spaces of buffers, as memrefs have them.
L3, L2, L1 = 0, 1, 2


@dataclass(frozen=True)
class Factor:
    """Part of a logical dimension: `size` steps, each worth `weight` indices."""

    size: int
    weight: int
    source_stride: int
    target_stride: int


@dataclass(frozen=True)
class Dimension:
    """A logical dimension; indices below `lower` and from `limit` on don't exist (None: none are cut off there)."""

    factors: tuple[Factor, ...]
    limit: Affine | None = None
    lower: Affine | None = None

    @property
    def extent(self) -> int:
        """One more than the largest index."""
        return 1 + sum((factor.size - 1) * factor.weight for factor in self.factors)

    @property
    def is_limited(self) -> bool:
        return self.limit is not None or self.lower is not None

    @property
    def bounds(self) -> tuple[Affine, ...]:
        """What decides which indices exist."""
        return tuple(bound for bound in (self.lower, self.limit) if bound is not None)

    def without_idle_bounds(self, trips: Mapping[str, int]) -> Dimension:
        """The dimension without bounds that no step of a loop reaches."""
        limit, lower = self.limit, self.lower
        if limit is not None and limit.minimum(trips) >= self.extent:
            limit = None
        if lower is not None and lower.maximum(trips) <= 0:
            lower = None
        return Dimension(self.factors, limit, lower)

    def substitute(self, values: Mapping[str, Affine]) -> Dimension:
        """The dimension with counters replaced in what bounds it."""
        limit = None if self.limit is None else self.limit.substitute(values)
        lower = None if self.lower is None else self.lower.substitute(values)
        return Dimension(self.factors, limit, lower)


@dataclass(frozen=True, eq=False)
class BufferInfo:
    """An allocation, or a function's tensor argument or result (L3); equal to itself alone."""

    name: str
    space: int
    shape: tuple[int, ...]
    element_type: str
    element_bytes: int
    location: SourceLocation | None

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.element_bytes


@dataclass(frozen=True)
class End:
    """One side of a transfer: where in a buffer its index space begins."""

    buffer: BufferInfo
    offset: Affine


@dataclass(frozen=True)
class Transfer:
    """A movement between two levels.

    What doesn't exist is neither read nor written, or else zeros are written for it (`pads`), or it is read and then
    left out (`drops`). `key` tells it from the others of its nest.
    """

    source: End
    target: End
    dimensions: tuple[Dimension, ...]
    pads: bool
    location: SourceLocation | None
    drops: bool = False
    key: int = 0


@dataclass(frozen=True)
class Kernel:
    """Work of a core on L1 buffers; `key` finds its op again, and kernels of equal `code` compute the same.

    Its function takes `reads`, then those of `writes` that it doesn't read. `padding` is of those whose zeros its
    engine may make up.
    """

    key: int
    kind: str
    code: str = field(repr=False)
    reads: tuple[BufferInfo, ...]
    writes: tuple[BufferInfo, ...]
    location: SourceLocation | None
    padding: tuple[tuple[BufferInfo, tuple[Padding, ...]], ...] = ()


@dataclass(frozen=True)
class Allocate:
    """From here to the end of the enclosing body a slot of the buffer is in use."""

    buffer: BufferInfo


@dataclass
class Loop:
    """Repeats its body; a `grid` loop is over the cores' coordinates and runs everywhere at once."""

    counter: str
    trips: int
    body: list[Statement] = field(default_factory=list)
    grid: bool = False


Statement = Transfer | Kernel | Allocate | Loop


@dataclass
class Nest:
    """One function: its L3 buffers and its statements. What `constants` hold is there from the start."""

    name: str
    arguments: list[BufferInfo] = field(default_factory=list)
    results: list[BufferInfo] = field(default_factory=list)
    intermediates: list[BufferInfo] = field(default_factory=list)
    constants: list[BufferInfo] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    grid: tuple[int, int] = (1, 1)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a buffer whose last dimension is contiguous."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def walk(body: list[Statement], around: tuple[Loop, ...] = ()) -> Iterator[tuple[Statement, tuple[Loop, ...]]]:
    """Every statement with the loops around it, in program order."""
    for statement in body:
        yield statement, around
        if isinstance(statement, Loop):
            yield from walk(statement.body, (*around, statement))
