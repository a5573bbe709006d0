"""How long a kernel takes on a core: a model of its inner loop. Pure.

A matmul of packed tiles issues matrix instructions at a share of the core's rate that depends on how the kernel was
made (by hand, by a library, by direct code generation), and each accumulator tile is loaded and stored once per call,
a vector per cycle, as far as that isn't hidden behind instructions. The device's file has the shares. Kernels without
matrix instructions take what `npuflow.strategy.vector_cycles` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from npuflow.frontend.products import Products
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
    if shape.types and any(known.types == shape.types for known in device.matmuls):
        return _matmul_cycles(shape, device, kind)
    return engine.call_cycles if shape.vector is None else vector_cycles(shape.vector, shape.trips, device, kind)


def _matmul_cycles(shape: KernelShape, device: Device, kind: str) -> int:
    lhs, rhs, acc = shape.types
    engine, instruction = device.engines[0], device.matmul_shapes(lhs, rhs, acc)[0]
    moves = 2 * shape.acc_bytes / engine.vector_bytes
    known = None if instruction.any_shape else device.kernel_kind(kind, (lhs, rhs, acc))
    if known is None:
        return engine.call_cycles + ceil(shape.issued_macs(instruction) / instruction.macs_per_cycle + moves)
    issue = shape.issued_macs(instruction) / (instruction.macs_per_cycle * known.issue_share)
    return known.call_cycles + ceil(issue + moves * known.move_share)
