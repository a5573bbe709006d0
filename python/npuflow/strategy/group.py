"""A group as numbers: what its ops loop over, which tensors they touch and what work they do. Pure data.

A matmul with its tail is a group as a softmax is. Of its loops `M`, `N` and `BATCH` are the space, and `K` is streamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

from npuflow.kernels.vector_cycles import VectorWork
from npuflow.ops.linear import Linear
from npuflow.ops.products import Products
from npuflow.ops.window_sums import WindowSums
from npuflow.target.hashed_once import hashed_once

Tiles = Sequence[int]
M, N, BATCH, K = range(4)


class Role(Enum):
    """What a group does with a tensor."""

    INPUT = "input"
    LOCAL = "local"
    OUTPUT = "output"


class MatmulOperand(Enum):
    """What a tensor is to a matmul; `START` is a sum that is continued, and read where the result will be."""

    LHS = "lhs"
    RHS = "rhs"
    START = "start"
    SUM = "sum"
    TAIL = "tail"


@dataclass(frozen=True)
class Tensor:
    """A tensor that a group reads, makes for itself or gives away; `dims` say how loops walk through it.

    A `gathered` one lies in L1 with a dimension for each of its loops, windows copied out one by one. `user` is the
    number of the first op that reads it, `last_user` of the last. What is `handed_over` lies between sums of products
    and ops that are none. It may have a `number` among what the groups of a function hand to each other; what is
    `at_home` stays on the chip from one to the next, and takes nothing of DRAM. Zeros around a `padded` one are made
    up by the engine whose windows read it.
    """

    name: str
    role: Role
    dims: tuple[Linear, ...]
    shape: tuple[int, ...]
    element_bytes: int
    gathered: bool = False
    operand: MatmulOperand | None = None
    user: int = 0
    last_user: int = 0
    handed_over: bool = False
    number: int | None = None
    at_home: bool = False
    padded: bool = False

    @property
    def whole_bytes(self) -> int:
        """What all of it takes in DRAM."""
        return prod(self.shape) * self.element_bytes

    def bytes(self, tiles: Tiles) -> int:
        """What a tile touches of it, halo included."""
        size = self.element_bytes
        for dim in self.dims:
            size *= dim.extent(tiles)
        return size

    def stored_bytes(self, tiles: Tiles) -> int:
        """What a tile touches of what exists: without the zeros around it."""
        stored = self.element_bytes
        for dim, size in zip(self.dims, self.shape):
            stored *= min(dim.extent(tiles), size)
        return stored

    def l1_bytes(self, tiles: Tiles) -> int:
        """What a tile takes in L1."""
        if not self.gathered:
            return self.bytes(tiles)
        return prod(tiles[loop] for loop in self.loops) * self.element_bytes

    @cached_property
    def loops(self) -> frozenset[int]:
        """The loops that it follows."""
        return frozenset(loop for dim in self.dims for loop, _ in dim.terms)

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """How many bytes each of its dimensions moves on by in the row-major tensor."""
        inward = accumulate(reversed(self.shape), mul, initial=self.element_bytes)
        return tuple(inward)[len(self.shape) - 1 :: -1] if self.shape else ()

    @cached_property
    def strides(self) -> dict[int, int]:
        """How many bytes each of its loops moves on by in the row-major tensor."""
        found = dict.fromkeys(self.loops, 0)
        for dim, pitch in zip(self.dims, self.pitches):
            for loop, coefficient in dim.terms:
                found[loop] += coefficient * pitch
        return found

    def follows(self, loop: int) -> bool:
        return loop in self.loops

    def run_bytes(self, tiles: Tiles) -> int:
        """The contiguous bytes of a tile in a row-major tensor."""
        run = self.element_bytes
        for dim, size in zip(reversed(self.dims), reversed(self.shape)):
            extent = min(dim.extent(tiles), size)
            run *= extent
            if extent < size:
                break
        return run


@dataclass(frozen=True)
class OpWork:
    """One op: its loops, what it is to the vector unit if that can do it, and to matrix instructions if they could.

    A `pieced` one runs for every piece of streamed loops, others once for a tile; a `starting` one reads nothing, so
    that the first block's is done before anything has come, and may be what `opens` sums of products of some types.
    Where the group is packed, its vector work goes through pieces of the space and through what is inside of them.
    `windows` are what it goes through channel by channel, which it `opens` of another op.
    """

    loops: tuple[int, ...]
    vector: VectorWork | None
    products: Products | None = None
    pieced: bool = False
    starting: bool = False
    opens: tuple[str, str, str] | WindowSums | None = None
    windows: WindowSums | None = None


@hashed_once
@dataclass(frozen=True)
class Group:
    """`sizes` of all loops: the first `space` are split over blocks and cores, `streamed` ones may go piece by piece.

    Zeros may be added to a streamed loop where they change no sum (`pads_streamed`). A matmul's tiles lie `packed` as
    its instruction takes them. With `keeps_rows`, the streamed loop goes along rows of which some are kept.
    """

    sizes: tuple[int, ...]
    space: int
    streamed: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    work: tuple[OpWork, ...]
    pads_streamed: bool
    packed: bool = False
    keeps_rows: bool = False

    def at_home(self, numbers: Set[int]) -> Group:
        """The same with tensors of these numbers at home on the chip."""
        return replace(self, tensors=tuple(replace(t, at_home=t.number in numbers) for t in self.tensors))

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Those of its tensors that have one: what goes from group to group."""
        return frozenset(t.number for t in self.tensors if t.number is not None)

    def numbered(self, numbers: Mapping[int, int]) -> Group:
        """The same whose tensors have other numbers, those that aren't said none."""
        known = [None if t.number is None else numbers.get(t.number) for t in self.tensors]
        return replace(self, tensors=tuple(replace(t, number=number) for t, number in zip(self.tensors, known)))

    def with_gather(self) -> Group | None:
        """The same with windows gathered on their way into L1; None where no sum of products has any."""
        wanted = [number for work in self.work if work.products for number in work.products.windowed]
        if not wanted or self.keeps_rows or len([w for w in self.work if w.products]) != 1:
            return None
        windowed = [_is_windowed(tensor) for tensor in self.tensors]
        if sum(windowed) != len(wanted):
            return None
        tensors = tuple(replace(t, gathered=gathers) for t, gathers in zip(self.tensors, windowed))
        work = tuple(
            replace(w, products=w.products.gathered) if w.products and w.products.gathered else w for w in self.work
        )
        return replace(self, tensors=tensors, work=work)

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.role is Role.INPUT)

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.role is Role.OUTPUT)

    @property
    def gathers(self) -> bool:
        return any(tensor.gathered for tensor in self.tensors)

    @cached_property
    def types(self) -> tuple[str, str, str] | None:
        """The types of the first sum of products."""
        return next((work.products.types for work in self.work if work.products), None)

    @cached_property
    def cut_off(self) -> dict[str, frozenset[int]]:
        """The loops along which windows reach over a tensor's edge, where transfers are cut off."""
        return {
            tensor.name: frozenset(loop for dim, _ in self._cut_off_dims(tensor) for loop, _ in dim.terms)
            for tensor in self.tensors
        }

    @cached_property
    def cut_off_bytes(self) -> dict[str, tuple[int, ...]]:
        """How many bytes a place is from the next one along the dimensions where transfers are cut off."""
        return {tensor.name: tuple(pitch for _, pitch in self._cut_off_dims(tensor)) for tensor in self.tensors}

    def _cut_off_dims(self, tensor: Tensor) -> list[tuple[Linear, int]]:
        dims = zip(tensor.dims, tensor.shape, tensor.pitches)
        return [(dim, pitch) for dim, size, pitch in dims if dim.extent(self.sizes) > size]

    @cached_property
    def windowed(self) -> frozenset[int]:
        """The loops that sums of several index some tensor by."""
        sums = (dim for tensor in self.tensors for dim in tensor.dims if len(dim.terms) > 1)
        return frozenset(loop for dim in sums for loop, _ in dim.terms)

    def whole(self) -> list[int]:
        """Tiles of one in space, and all of every other loop."""
        return [1] * self.space + list(self.sizes[self.space :])

    def streams_through(self, tensor: Tensor) -> bool:
        """Whether a tensor comes in pieces where streamed loops are cut."""
        return not tensor.loops.isdisjoint(self.streamed)


def _is_windowed(tensor: Tensor) -> bool:
    return tensor.role is Role.INPUT and any(len(dim.terms) > 1 for dim in tensor.dims)
