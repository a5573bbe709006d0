"""How long a kernel takes on a core: a model of its inner loop. Pure.

A matmul of packed tiles issues one matrix instruction per cycle as far as operands keep up: each instruction needs its
two operand tiles from L1, over two load ports of a vector each per cycle, and each accumulator tile is loaded and
stored once per call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from npuflow.target import Device


@dataclass(frozen=True)
class KernelShape:
    """What a kernel works on: loop extents by role for a matmul, elements for anything else."""

    kind: str
    types: tuple[str, ...]
    elements: int
    element_bytes: int
    macs: int = 0
    acc_bytes: int = 0
    operations: int = 1


def kernel_cycles(shape: KernelShape, device: Device) -> int:
    """Cycles of one call, entering and leaving included."""
    engine = device.engines[0]
    if shape.kind == "matmul":
        lhs, rhs, acc = shape.types
        rate = device.matmul_shapes(lhs, rhs, acc)[0].macs_per_cycle
        moves = 2 * shape.acc_bytes / engine.vector_bytes
        return engine.call_cycles + ceil(shape.macs / rate + moves)
    lanes = max(1, engine.vector_bytes // shape.element_bytes)
    return engine.call_cycles + ceil(shape.elements / lanes) * max(1, shape.operations)


