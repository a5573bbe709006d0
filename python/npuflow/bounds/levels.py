"""The boundaries of a device's memories: what lies inside of each level, where a multicast counts once. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.target import Device
from npuflow.target.model import MemoryLevel, SharedBy


@dataclass(frozen=True)
class Boundary:
    """Between a level and all that lies inside of it: so many bytes in all, taken for one memory.

    `private` is what each core has there, if that is all there is: then each of `memories` must receive its own.
    """

    level: MemoryLevel
    fast_bytes: int
    memories: int = 0
    private_bytes: int = 0


def boundaries_of(device: Device) -> tuple[Boundary, ...]:
    """Every level but the cores' own, the outermost first."""
    levels = sorted((level for level in device.levels if level.number > 1), key=lambda level: -level.number)
    return tuple(_boundary(device, level) for level in levels)


def _boundary(device: Device, level: MemoryLevel) -> Boundary:
    inside = [inner for inner in device.levels if inner.number < level.number]
    counts = [inner.shared_by.instances(device.rows, device.columns) for inner in inside]
    fast = sum(inner.usable_bytes * count for inner, count in zip(inside, counts))
    if [inner.shared_by for inner in inside] != [SharedBy.CORE]:
        return Boundary(level, fast)
    return Boundary(level, fast, counts[0], inside[0].usable_bytes)
