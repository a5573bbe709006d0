"""How long a kernel takes on a core. Pure.

What takes matrix instructions takes what `npuflow.kernels.matrix_cycles` says, all else what `VectorKernel` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from npuflow.kernels.matrix_cycles import (
    begins_in_engine,
    begins_without_kernel,
    head_cycles,
    made_as,
    matrix_cycles,
    patch_kernel_cycles,
    takes_windows,
    window_cycles,
)
from npuflow.kernels.vector_cycles import VectorKernel, VectorWork
from npuflow.ops.patches import Extent
from npuflow.ops.products import Products, padded
from npuflow.ops.window_sums import WindowSums
from npuflow.target import Device, KernelClass, MatmulShape
from npuflow.target.matmul import KernelKind


@dataclass(frozen=True)
class KernelShape:
    """What a kernel works on: loop extents by role for sums of products, elements for anything else.

    `beside` are the types of a matrix kernel that it shares buffers in L1 with, if there is one. What fills a buffer
    with `zeros` may be what `opens` the sums of one with these types. `windows` are what it goes through channel by
    channel, which matrix engines of patches do as well.
    """

    kind: str
    types: tuple[str, ...]
    elements: int
    element_bytes: int
    macs: int = 0
    acc_bytes: int = 0
    vector: VectorWork | None = None
    products: Products | None = None
    trips: tuple[int, ...] = ()
    beside: tuple[str, str, str] | None = None
    zeros: bool = False
    opens: tuple[str, str, str] | None = None
    windows: WindowSums | None = None

    def matrix_types(self, device: Device) -> tuple[str, str, str] | None:
        """The types by which a device's matrix engine runs it, if that does."""
        if self.products is not None and device.has_instruction(self.types):
            return self.products.types
        return self.windows.types if self.windows is not None and takes_windows(self.windows, device) else None

    def issued_macs(self, instruction: MatmulShape, vector_bytes: int, *, reshaped: bool = True) -> int:
        """Multiplications that instructions do, idle ones included; `reshaped` as of `Products.image`."""
        if self.products is None:
            return self.macs
        return self.products.issued(self.trips, instruction, vector_bytes, reshaped=reshaped)


@dataclass(frozen=True)
class Reshape:
    """A kernel's tile, a `line` of pixels reshaped to an `image` to fill patches; a call's cycles before and after."""

    line: Extent
    image: Extent
    cycles_before: int
    cycles: int


def kernel_cycles(shape: KernelShape, device: Device, kind: str = "") -> int:
    """Cycles of one call, entering and leaving included; `kind` is one of the device's kernel kinds.

    Without one, a matrix kernel is of the first kind for its types, and others of the kind of that beside them.
    """
    if device.has_instruction(shape.types):
        return _matmul_cycles(shape, device, kind, reshaped=True)
    if shape.windows is not None and takes_windows(shape.windows, device):
        return window_cycles(shape.windows, shape.trips, device)
    opens = shape.opens is not None and begins_without_kernel(shape.opens, device, kind)
    if opens or (shape.kind == "fill" and shape.beside is not None and begins_in_engine(shape.beside, device)):
        return 0
    if shape.vector is None:
        engine = device.engine(KernelClass.VECTOR)
        return device.cycles_of(engine, engine.call_cycles)
    return VectorKernel(shape.vector, device, kind or made_as(shape.beside, device)).cycles(shape.trips)


def reshape_of(shape: KernelShape, device: Device, kind: str = "") -> Reshape | None:
    """How a kernel's pixels are reshaped to fill its instruction's patches; None where they stay as they lie."""
    if shape.products is None or not device.has_instruction(shape.types):
        return None
    instruction = device.matmul_shapes(*shape.products.types)[0]
    if not instruction.patch:
        return None
    line, image = (shape.products.image(shape.trips, instruction, reshaped=after) for after in (False, True))
    if line == image:
        return None
    cycles_before, cycles = (_matmul_cycles(shape, device, kind, reshaped=after) for after in (False, True))
    return Reshape(line, image, cycles_before, cycles)


def _matmul_cycles(shape: KernelShape, device: Device, kind: str, *, reshaped: bool) -> int:
    lhs, rhs, acc = shape.types
    instruction, vector_bytes = device.matmul_shapes(lhs, rhs, acc)[0], device.engine(KernelClass.MATRIX).vector_bytes
    heads = head_cycles(shape.products, shape.trips, device) if shape.products else 0
    products = shape.products
    patched = patch_kernel_cycles(products, shape.trips, device, reshaped=reshaped) if products else None
    if patched is not None:
        return patched + heads
    issued = shape.issued_macs(instruction, vector_bytes, reshaped=reshaped)
    issued = ceil(issued * _idle_rows(shape, instruction, device.kernel_kind(kind, (lhs, rhs, acc))))
    return matrix_cycles((lhs, rhs, acc), issued, shape.acc_bytes, device, kind) + heads


def _idle_rows(shape: KernelShape, instruction: MatmulShape, kind: KernelKind | None) -> float:
    """How much longer a tile takes whose rows don't fill all that its kernel's inner loop works on side by side."""
    if shape.products is None or kind is None or instruction.any_shape:
        return 1.0
    rows = padded(prod(shape.trips[loop] for loop in shape.products.m), instruction.m)
    return padded(rows, instruction.m * kind.row_blocks) / rows
