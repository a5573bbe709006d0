"""Which kernels are for matrix engines, and which work in L1 with one of those, and so are code of its kind. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npuflow.ops.union import Union
from npuflow.schedule.kernels.kernel_cycles import KernelShape
from npuflow.schedule.nest.nest import BufferInfo, Kernel, Nest, walk
from npuflow.target import Device, KernelClass

_KERNEL, _BUFFER = 0, 1


def with_neighbours(nest: Nest, shapes: Sequence[KernelShape], device: Device) -> tuple[KernelShape, ...]:
    """The shapes, by kernels' keys, each with the types of a matrix kernel that is joined to it by buffers in L1.

    Where there is none, with those by which windows multiply that a matrix kernel could have.
    Of zeros, they have those of one that sums up what they fill as well.
    """
    union, numbers = Union(), dict[BufferInfo, int]()
    for statement, _ in walk(nest.body):
        if isinstance(statement, Kernel):
            for buffer in (*statement.reads, *statement.writes):
                number = numbers.setdefault(buffer, len(numbers))
                union.join((_KERNEL, statement.key), (_BUFFER, number))
    found = list(shapes)
    for group in union.classes([(_KERNEL, key) for key in range(len(shapes))]):
        keys = [key for _, key in group]
        made = (shapes[key].matrix_types(device) for key in keys)
        windows = (own.types for key in keys if (own := shapes[key].windows) is not None)
        known = (*made, *(types for types in windows if device.has_instruction(types)))
        beside = next((types for types in known if types is not None), None)
        for key in keys:
            found[key] = replace(found[key], beside=beside)
    return _with_openings(nest, found, device)


def _with_openings(nest: Nest, shapes: Sequence[KernelShape], device: Device) -> tuple[KernelShape, ...]:
    """The shapes; of zeros, with the types of the matrix kernel that sums up what they fill.

    Of what windows begin with as well, which may be the least number there is.
    """
    kernels = [statement for statement, _ in walk(nest.body) if isinstance(statement, Kernel)]
    made = {kernel.key: shapes[kernel.key].matrix_types(device) for kernel in kernels}
    sums = {buffer: (types, k.key) for k in kernels if (types := made[k.key]) is not None for buffer in k.writes}
    found = list(shapes)
    for kernel in kernels:
        opened = [sums.get(buffer) for buffer in kernel.writes]
        if found[kernel.key].kind != "fill" or not opened or (first := opened[0]) is None or None in opened:
            continue
        if found[kernel.key].zeros or shapes[first[1]].windows is not None:
            found[kernel.key] = replace(found[kernel.key], opens=first[0])
    return tuple(found)


def kernel_classes(nest: Nest, shapes: Sequence[KernelShape], device: Device) -> dict[int, KernelClass]:
    """The class of each kernel by its key: what takes matrix instructions, and fills of the sums that these add to."""
    kernels = [statement for statement, _ in walk(nest.body) if isinstance(statement, Kernel)]
    matrix = [kernel for kernel in kernels if shapes[kernel.key].matrix_types(device) is not None]
    sums = {buffer for kernel in matrix for buffer in kernel.writes}
    keys = {kernel.key for kernel in matrix}
    keys |= {kernel.key for kernel in kernels if kernel.kind == "fill" and sums.issuperset(kernel.writes)}
    return {k.key: KernelClass.MATRIX if k.key in keys else KernelClass.VECTOR for k in kernels}
