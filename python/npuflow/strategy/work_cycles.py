"""How long the ops of a group take on a core's tile. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuflow.kernels.matrix_cycles import (
    begins_without_kernel,
    head_cycles,
    least_matrix_cycles,
    made_as,
    matrix_cycles,
    patch_kernel_cycles,
)
from npuflow.kernels.vector_cycles import least_vector_cycles, vector_cycles
from npuflow.ops.products import Products
from npuflow.strategy.group import Group, M, N, OpWork
from npuflow.target import Device, KernelClass
from npuflow.target.matmul import bytes_of


def kind_of(group: Group, device: Device) -> str:
    """How the kernels of a group are made: all of them as one with matrix instructions, if there is any."""
    types = (work.products.types for work in group.work if work.products)
    return made_as(next((each for each in types if device.has_instruction(each)), None), device)


def multiplies(work: OpWork, device: Device) -> bool:
    """Whether an op runs on the matrix engine."""
    return work.products is not None and device.has_instruction(work.products.types)


def work_cycles(work: OpWork, tiles: Sequence[int], device: Device, kind: str = "", pack: Sequence[int] = ()) -> int:
    """One op on one tile: matrix instructions for sums of products whose types have them, else vector operations."""
    if work.opens is not None and begins_without_kernel(work.opens, device, kind):
        return 0
    own = [tiles[loop] for loop in work.loops]
    products = work.products
    if products is None or not device.has_instruction(products.types):
        assert work.vector is not None, "a packed product has an instruction"
        sizes = own if not pack else [tiles[M] // pack[M], tiles[N] // pack[N], pack[M], pack[N]]
        return vector_cycles(work.vector, sizes, device, kind)
    heads = head_cycles(products, own, device)
    patched = patch_kernel_cycles(products, own, device)
    if patched is not None:
        return patched + heads
    instruction = device.matmul_shapes(*products.types)[0]
    sums = prod(own[loop] for loop in _made(work, products)) * bytes_of(products.types[2])
    issued = products.issued(own, instruction, device.engine(KernelClass.MATRIX).vector_bytes)
    return matrix_cycles(products.types, issued, sums, device, kind) + heads


def least_work_cycles(work: OpWork, device: Device, kind: str = "") -> tuple[float, float]:
    """Cycles of one op at least: of a call, and of each step of its loops."""
    if work.opens is not None and begins_without_kernel(work.opens, device, kind):
        return 0.0, 0.0
    if work.products is not None and device.has_instruction(work.products.types):
        return least_matrix_cycles(work.products.types, device, kind)
    assert work.vector is not None, "a packed product has an instruction"
    call, step = least_vector_cycles(work.vector, device, kind)
    return call, step if {loop for run in work.vector.runs for loop in run} == set(range(len(work.loops))) else 0.0


def conversions(group: Group, device: Device) -> list[str]:
    """What a device multiplies in another type than a group's own, in words."""
    types = dict.fromkeys(work.products.types for work in group.work if work.products)
    made = ((each, device.matmul_shapes(*each)[0]) for each in types if device.has_instruction(each))
    return [
        f"{each[0]} is computed as {shape.computed_as}: {device.name} has no instruction for {each[0]}"
        for each, shape in made
        if shape.computed_as
    ]


def _made(work: OpWork, products: Products) -> list[int]:
    """The loops of an op that each make sums of their own."""
    if work.vector is None:
        return [loop for loop in range(len(work.loops)) if loop not in products.k]
    return [loop for run, is_sum in zip(work.vector.runs, work.vector.sums) if not is_sum for loop in run]
