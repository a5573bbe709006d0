"""How long a kernel takes on a core. Pure.

What takes matrix instructions takes what `npuflow.strategy.matrix_cycles` says, all else what `vector_cycles` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.frontend.products import Products
from npuflow.strategy.matrix_cycles import head_cycles, matrix_cycles
from npuflow.strategy.vector_cycles import VectorWork, vector_cycles
from npuflow.target import Device, MatmulShape


@dataclass(frozen=True)
class KernelShape:
    """What a kernel works on: loop extents by role for sums of products, elements for anything else."""

    kind: str
    types: tuple[str, ...]
    elements: int
    element_bytes: int
    macs: int = 0
    acc_bytes: int = 0
    vector: VectorWork | None = None
    products: Products | None = None
    trips: tuple[int, ...] = ()

    def issued_macs(self, instruction: MatmulShape) -> int:
        """Multiplications that instructions do, idle ones included."""
        if self.products is None or instruction.any_shape:
            return self.macs
        return self.products.issued(self.trips, instruction.m, instruction.n, instruction.k)


def kernel_cycles(shape: KernelShape, device: Device, kind: str = "") -> int:
    """Cycles of one call, entering and leaving included; `kind` is one of the device's kernel kinds."""
    engine = device.engines[0]
    if device.has_instruction(shape.types):
        return _matmul_cycles(shape, device, kind)
    return engine.call_cycles if shape.vector is None else vector_cycles(shape.vector, shape.trips, device, kind)


def _matmul_cycles(shape: KernelShape, device: Device, kind: str) -> int:
    lhs, rhs, acc = shape.types
    issued = shape.issued_macs(device.matmul_shapes(lhs, rhs, acc)[0])
    heads = head_cycles(shape.products, shape.trips, device) if shape.products else 0
    return matrix_cycles((lhs, rhs, acc), issued, shape.acc_bytes, device, kind) + heads
