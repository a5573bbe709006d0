"""The bufferized program as a tree of loops and statements over buffers: what projection works on. Pure data.

A transfer runs through an index space. Each logical dimension is split into factors (outermost first) that both sides
stride over in their own way; an index exists while it is below the dimension's limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from npuflow.errors import SourceLocation
from npuflow.schedule.affine import Affine

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
    """A logical dimension; indices from `limit` on don't exist in the source (None: all do)."""

    factors: tuple[Factor, ...]
    limit: Affine | None = None

    @property
    def extent(self) -> int:
        total = 1
        for factor in self.factors:
            total *= factor.size
        return total


@dataclass(frozen=True, eq=False)
class BufferInfo:
    """An allocation, or a function's tensor argument or result (L3)."""

    name: str
    space: int
    shape: tuple[int, ...]
    element_type: str
    element_bytes: int
    location: SourceLocation | None

    @property
    def elements(self) -> int:
        total = 1
        for size in self.shape:
            total *= size
        return total

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
    """A movement between two levels; `pads` writes zeros for what doesn't exist in the source."""

    source: End
    target: End
    dimensions: tuple[Dimension, ...]
    pads: bool
    location: SourceLocation | None


@dataclass(frozen=True)
class Kernel:
    """Work of a core on L1 buffers; `key` finds its op again."""

    key: int
    kind: str
    reads: tuple[BufferInfo, ...]
    writes: tuple[BufferInfo, ...]
    location: SourceLocation | None


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
    """One function: its L3 buffers in order of arguments, then results, and its statements."""

    name: str
    arguments: list[BufferInfo] = field(default_factory=list)
    results: list[BufferInfo] = field(default_factory=list)
    intermediates: list[BufferInfo] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    grid: tuple[int, int] = (1, 1)


def walk(body: list[Statement], around: tuple[Loop, ...] = ()) -> Iterator[tuple[Statement, tuple[Loop, ...]]]:
    """Every statement with the loops around it, in program order."""
    for statement in body:
        yield statement, around
        if isinstance(statement, Loop):
            yield from walk(statement.body, (*around, statement))
