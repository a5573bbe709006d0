"""How long it takes to go on to another part of a function, roughly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from npuflow.bindings import ir
from npuflow.network.groups import FusionGroup, least_locks
from npuflow.network.phases import TileChange
from npuflow.network.set_up import PhaseChange
from npuflow.strategy.describe_bundle import kernels_fit
from npuflow.target import Device, KernelClass


@lru_cache(maxsize=16)
def change_seconds(device: Device) -> float:
    """What it takes to go on to another part, whose program all cores get."""
    size, cores = device.engine(KernelClass.VECTOR).program_bytes, device.rows * device.columns
    change = TileChange(program_bytes=size, columns=frozenset(range(device.columns)), tiles=cores)
    return PhaseChange((change,)).set_up(device.control).seconds


def change_between(groups: Sequence[FusionGroup], device: Device) -> float:
    """The same between groups of a function; nothing where these may be one program."""
    return change_seconds(device) if least_locks(groups) > device.dma(device.kernel_level).locks else 0.0


def change_among(ops: Sequence[ir.Operation], device: Device) -> float:
    """The same between a few parts that these ops are in.

    Where cores are loaded one by one it is nothing if they have room for the programs of all; packets set up tiles all
    the same.
    """
    is_kept = device.control.loads_one_by_one and kernels_fit(ops, device)
    return 0.0 if is_kept else change_seconds(device)
