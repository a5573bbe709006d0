"""What an op computes per byte that it moves, against what a machine can compute in the time it moves one. Pure."""

from __future__ import annotations

from npuflow.target import Device, KernelClass

Types = tuple[str, str, str]


def peak_ops_per_second(device: Device, types: Types) -> float:
    """Of all cores, with the preferred instruction for these types: two operations per multiply-accumulate."""
    clock_hz = device.clock_of(device.engine(KernelClass.MATRIX))
    return 2 * device.matmul_shapes(*types)[0].macs_per_cycle * device.cores * clock_hz


def machine_balance(device: Device, types: Types) -> float:
    """Operations that the cores do while DRAM moves a byte."""
    return peak_ops_per_second(device, types) / device.dram.total_bytes_per_second


def intensity(macs: int, moved_bytes: int) -> float:
    """Operations per byte that is moved, two per multiply-accumulate."""
    return 2 * macs / moved_bytes if moved_bytes else float("inf")
