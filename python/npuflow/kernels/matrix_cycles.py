"""How long a kernel of matrix instructions takes on a core: a model of its inner loop. Pure.

It issues instructions at a share of the core's rate that depends on how the kernel was made (by hand, by a library, by
direct code generation), and each accumulator tile is loaded and stored once per call, a vector per cycle, as far as
that isn't hidden behind instructions. The device's file has the shares. Engines whose file says what their ends take
have a model of their own, `patch_cycles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from npuflow.kernels.patch_cycles import PatchWork, best_patch_cycles, least_patch_cycles
from npuflow.ops.products import Products
from npuflow.ops.window_sums import WindowSums
from npuflow.target import Device, KernelClass
from npuflow.target.matmul import bytes_of

_COMPUTED_BYTES = 4  # zero points, masks and scales are applied to 32-bit elements


def matrix_cycles(types: tuple[str, str, str], issued_macs: int, acc_bytes: int, device: Device, kind: str = "") -> int:
    """Cycles of one call that does so many multiplications, idle ones included, on an accumulator of so many bytes."""
    engine, instruction = device.engine(KernelClass.MATRIX), device.matmul_shapes(*types)[0]
    moves = 2 * acc_bytes / engine.vector_bytes
    known = None if instruction.any_shape else device.kernel_kind(kind, types)
    if known is None:
        return device.cycles_of(engine, engine.call_cycles + ceil(issued_macs / instruction.macs_per_cycle + moves))
    issue = issued_macs / (instruction.macs_per_cycle * known.issue_share)
    return device.cycles_of(engine, known.call_cycles + ceil(issue + moves * known.move_share))


def least_matrix_cycles(
    types: tuple[str, str, str], device: Device, kind: str = "", *, summed: int
) -> tuple[float, float]:
    """Cycles of a call at least, and of each multiplication, of which up to `summed` make a result."""
    engine, instruction = device.engine(KernelClass.MATRIX), device.matmul_shapes(*types)[0]
    rate = device.clock_hz / device.clock_of(engine)
    if device.patch_engine.is_known and instruction.patch:
        call, step = least_patch_cycles(instruction, device.patch_engine, summed=summed)
        return call * rate, step * rate
    known = None if instruction.any_shape else device.kernel_kind(kind, types)
    call, share = (engine.call_cycles, 1.0) if known is None else (known.call_cycles, known.issue_share)
    return call * rate, rate / (instruction.macs_per_cycle * share)


def least_result_cycles(types: tuple[str, str, str], device: Device, kind: str = "") -> float:
    """Cycles of a call for each result beside its multiplications: for its sum to be loaded and stored."""
    engine, instruction = device.engine(KernelClass.MATRIX), device.matmul_shapes(*types)[0]
    if device.patch_engine.is_known and instruction.patch:
        return 0.0
    known = None if instruction.any_shape else device.kernel_kind(kind, types)
    share = 1.0 if known is None else known.move_share
    return 2 * bytes_of(types[2]) / engine.vector_bytes * share * device.clock_hz / device.clock_of(engine)


def made_as(types: tuple[str, str, str] | None, device: Device) -> str:
    """The kind of all kernels that work in L1 with one of matrix instructions on such types, where none is given.

    Who writes a matrix kernel by hand, or takes it from a library, has what is done with its sums from there as well;
    and windows that multiply each channel by itself, for which there are no such instructions.
    """
    if types is None or not device.has_instruction(types) or device.accepts_any_shape(*types):
        return ""
    known = device.kernel_kind("", types)
    return "" if known is None else known.kind


def begins_without_kernel(types: tuple[str, str, str], device: Device, kind: str) -> bool:
    """Whether sums of products begin at what they are filled with by themselves, in a kernel or a patch engine."""
    if not device.has_instruction(types):
        return False
    made = device.kernel_kind(kind, types)
    return begins_in_engine(types, device) or (made is not None and made.from_zero)


def begins_in_engine(types: tuple[str, str, str], device: Device) -> bool:
    """Whether sums of products are those of a patch engine, which has what they begin with in itself."""
    return device.patch_engine.is_known and bool(device.matmul_shapes(*types)[0].patch)


def takes_windows(windows: WindowSums | None, device: Device) -> bool:
    """Whether a device's matrix engine goes through windows of each channel alone, of an op's types."""
    return windows is not None and device.has_instruction(windows.types) and begins_in_engine(windows.types, device)


def window_cycles(windows: WindowSums, tiles: Sequence[int], device: Device) -> int:
    """Cycles of a call that does so, on an engine that `takes_windows`."""
    instruction = device.matmul_shapes(*windows.types)[0]
    work = PatchWork(
        windows.image(tiles),
        channels=windows.channel_count(tiles),
        window=windows.window(tiles),
        strides=windows.strides,
        in_bytes=bytes_of(windows.types[0]),
        out_bytes=bytes_of(windows.types[2]),
    )
    cycles = best_patch_cycles(work, instruction, device.patch_engine)
    return device.cycles_of(device.engine(KernelClass.MATRIX), cycles)


def least_window_cycles(windows: WindowSums, device: Device, *, summed: int) -> tuple[float, float]:
    """The same at least: of a call, and of each element that is read in a window, of which up to `summed` are one's."""
    instruction = device.matmul_shapes(*windows.types)[0]
    rate = device.clock_hz / device.clock_of(device.engine(KernelClass.MATRIX))
    call, step = least_patch_cycles(instruction, device.patch_engine, summed=summed, has_channels_alone=True)
    return call * rate, step * rate


def head_cycles(products: Products, tiles: Sequence[int], device: Device) -> int:
    """Cycles of a call for what is computed of factors before they are multiplied, a vector at a time."""
    if not products.heads:
        return 0
    at_once = max(1, device.engine(KernelClass.MATRIX).vector_bytes // _COMPUTED_BYTES)
    return sum(ceil(head.steps(tiles) / at_once) for head in products.heads)


def patch_kernel_cycles(
    products: Products, tiles: Sequence[int], device: Device, *, reshaped: bool = True
) -> int | None:
    """Cycles of a call on a matrix engine that says what its ends take; None where a device's doesn't."""
    instruction = device.matmul_shapes(*products.types)[0]
    if not device.patch_engine.is_known or not instruction.patch:
        return None
    rows, columns = products.image(tiles, instruction, reshaped=reshaped)
    beside = {*products.m, *products.rows, *products.single} - {*(products.pixels or products.m), *products.taps}
    work = PatchWork(
        (rows * prod(tiles[loop] for loop in beside), columns),
        channels=prod(tiles[loop] for loop in products.n),
        summed_channels=prod(tiles[loop] for loop in products.k),
        window=(1, prod(tiles[loop] for loop in products.taps)),
        in_bytes=bytes_of(instruction.lhs),
        out_bytes=bytes_of(instruction.acc),
    )
    cycles = best_patch_cycles(work, instruction, device.patch_engine)
    return device.cycles_of(device.engine(KernelClass.MATRIX), cycles)
