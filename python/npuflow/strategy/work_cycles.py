"""How long the ops of a group take on a core's tile. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod

from npuflow.kernels.matrix_cycles import (
    begins_without_kernel,
    head_cycles,
    least_matrix_cycles,
    least_result_cycles,
    least_window_cycles,
    made_as,
    matrix_cycles,
    patch_kernel_cycles,
    takes_windows,
    window_cycles,
)
from npuflow.kernels.vector_cycles import VectorKernel
from npuflow.ops.products import Products
from npuflow.ops.window_sums import WindowSums
from npuflow.strategy.group import Group, M, N, OpWork
from npuflow.strategy.strategy import Sizes
from npuflow.target import Device, KernelClass
from npuflow.target.matmul import bytes_of

# Cycles of a call for each result, the loops that make results of their own, and loops of which instructions take
# multiples.
LeastOfResults = tuple[float, Sequence[int], Sequence[tuple[Sequence[int], int]]]


def kind_of(group: Group, device: Device) -> str:
    """How the kernels of a group are made: all of them as one with matrix instructions, if there is any.

    Else as those are that multiply what its windows do.
    """
    types = [work.products.types for work in group.work if work.products]
    types += [work.windows.types for work in group.work if work.windows]
    return made_as(next((each for each in types if device.has_instruction(each)), None), device)


def multiplies(work: OpWork, device: Device) -> bool:
    """Whether an op runs on the matrix engine."""
    return takes_products(work, device) or takes_windows(work.windows, device)


def takes_products(work: OpWork, device: Device) -> bool:
    """Whether an op is sums of products that a device has instructions for."""
    return work.products is not None and device.has_instruction(work.products.types)


@dataclass(frozen=True)
class OpCycles:
    """How long an op of a group takes on a core, in kernels of a kind: what is the same for tiles of all sizes.

    Sums of products whose types have matrix instructions are computed with these, all else by vector operations.
    """

    work: OpWork
    device: Device
    kind: str = ""
    pack: Sequence[int] = ()
    _known: dict[tuple[int, ...], int] = field(default_factory=dict, compare=False)

    def of_own(self, sizes: tuple[int, ...]) -> int:
        """Cycles of a call on a tile of such sizes of its loops, found once."""
        if sizes not in self._known:
            tiles = [1] * (max((N, *self.work.loops)) + 1)
            for loop, size in zip(self.work.loops, sizes):
                tiles[loop] = size
            self._known[sizes] = self.of_tile(tiles)
        return self._known[sizes]

    def of_tile(self, tiles: Sequence[int]) -> int:
        """Cycles of a call."""
        if self._begins_alone:
            return 0
        work, pack = self.work, self.pack
        own = [tiles[loop] for loop in work.loops]
        products = work.products
        if work.windows is not None and takes_windows(work.windows, self.device):
            return window_cycles(work.windows, own, self.device)
        if products is None or not self._multiplies:
            return self._vector.cycles(
                own if not pack else [tiles[M] // pack[M], tiles[N] // pack[N], pack[M], pack[N]]
            )
        heads = head_cycles(products, own, self.device) if products.heads else 0
        patched = patch_kernel_cycles(products, own, self.device) if self.device.patch_engine.is_known else None
        if patched is not None:
            return patched + heads
        sums = prod([own[loop] for loop in self._made]) * bytes_of(products.types[2])
        issued = products.issued(own, self.device.matmul_shapes(*products.types)[0], self._vector_bytes)
        return matrix_cycles(products.types, issued, sums, self.device, self.kind) + heads

    def least(self, sizes: Sequence[int]) -> tuple[float, float]:
        """Cycles at least: of a call, and of each step of the op's loops; tiles are no larger than `sizes`."""
        work = self.work
        if self._begins_alone:
            return 0.0, 0.0
        if work.products is not None and self._multiplies:
            own = [sizes[loop] for loop in work.loops]
            summed = prod(own) // prod([own[loop] for loop in self._made])
            return least_matrix_cycles(work.products.types, self.device, self.kind, summed=summed)
        if work.windows is not None and takes_windows(work.windows, self.device):
            summed = prod(sizes[work.loops[tap]] for tap in work.windows.taps if tap is not None)
            return least_window_cycles(work.windows, self.device, summed=summed)
        call, step = self._vector.least_cycles()
        runs = self._vector.work.runs
        return call, step if {loop for run in runs for loop in run} == set(range(len(work.loops))) else 0.0

    def least_of_results(self) -> LeastOfResults:
        """What a call takes at least beside its steps, and how instructions fill up."""
        work = self.work
        if work.products is None or not self._multiplies or self._begins_alone:
            return 0.0, (), ()
        loops = [
            tuple(work.loops[loop] for loop in role) for role in (_made(work, work.products), *_roles(work.products))
        ]
        each = least_result_cycles(work.products.types, self.device, self.kind)
        instruction = self.device.matmul_shapes(*work.products.types)[0]
        if instruction.any_shape or instruction.patch:
            return each, loops[0], ()
        units = (instruction.rows_per_load(self._vector_bytes), instruction.n, instruction.k)
        return each, loops[0], tuple((own, unit) for own, unit in zip(loops[1:], units) if own)

    @cached_property
    def _made(self) -> list[int]:
        """The loops of a product that each make sums of their own."""
        assert self.work.products is not None
        return _made(self.work, self.work.products)

    @cached_property
    def _multiplies(self) -> bool:
        return takes_products(self.work, self.device)

    @cached_property
    def _begins_alone(self) -> bool:
        opens = self.work.opens
        if isinstance(opens, WindowSums):
            return takes_windows(opens, self.device)
        return opens is not None and begins_without_kernel(opens, self.device, self.kind)

    @cached_property
    def _vector_bytes(self) -> int:
        return self.device.engine(KernelClass.MATRIX).vector_bytes

    @cached_property
    def _vector(self) -> VectorKernel:
        assert self.work.vector is not None, "a packed product has an instruction"
        return VectorKernel(self.work.vector, self.device, self.kind)


@lru_cache(maxsize=1024)
def op_cycles(work: OpWork, device: Device, kind: str, pack: Sizes) -> OpCycles:
    """An op's cycles, for all groups that have it: fused in other tiles, or searched more widely, it takes the same."""
    return OpCycles(work, device, kind, pack)


def conversions(group: Group, device: Device) -> list[str]:
    """What a device multiplies in another type than a group's own, in words."""
    types = dict.fromkeys(work.products.types for work in group.work if work.products)
    made = ((each, device.matmul_shapes(*each)[0]) for each in types if device.has_instruction(each))
    return [
        f"{each[0]} is computed as {shape.computed_as}: {device.name} has no instruction for {each[0]}"
        for each, shape in made
        if shape.computed_as
    ]


def _roles(products: Products) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    return products.m, products.n, products.k


def _made(work: OpWork, products: Products) -> list[int]:
    """The loops of an op that each make sums of their own."""
    if work.vector is None:
        return [loop for loop in range(len(work.loops)) if loop not in products.k]
    return [loop for run, is_sum in zip(work.vector.runs, work.vector.sums) if not is_sum for loop in run]
