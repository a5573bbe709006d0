"""Which kernels work in L1 with a matrix kernel, and so are code of its kind. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npuflow.ops.union import Union
from npuflow.schedule.kernels.kernel_cycles import KernelShape
from npuflow.schedule.nest.nest import Kernel, Nest, walk
from npuflow.target import Device

_KERNEL, _BUFFER = 0, 1


def with_neighbours(nest: Nest, shapes: Sequence[KernelShape], device: Device) -> tuple[KernelShape, ...]:
    """The shapes, by kernels' keys, each with the types of a matrix kernel that is joined to it by buffers in L1."""
    union, numbers = Union(), dict[int, int]()
    for statement, _ in walk(nest.body):
        if isinstance(statement, Kernel):
            for buffer in (*statement.reads, *statement.writes):
                number = numbers.setdefault(id(buffer), len(numbers))
                union.join((_KERNEL, statement.key), (_BUFFER, number))
    found = list(shapes)
    for group in union.classes([(_KERNEL, key) for key in range(len(shapes))]):
        keys = [key for _, key in group]
        products = (shapes[key].products for key in keys if device.has_instruction(shapes[key].types))
        beside = next((product.types for product in products if product is not None), None)
        for key in keys:
            found[key] = replace(found[key], beside=beside)
    return tuple(found)
