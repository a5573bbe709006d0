"""Devices as choices of tiles see them: with a level 2 between DRAM and engines' memories, real or not.

A machine without it is planned as if blocks came into a memory of DRAM's size, at the rate of its ways: its schedules
then go around that memory, which holds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from npuflow.target.device import Device
from npuflow.target.model import Hop, SharedBy

_PLENTY = 10**6


@dataclass(frozen=True, kw_only=True)
class PlannedDevice(Device):
    """A device whose level 2 isn't real: schedules go around it."""


def planned(device: Device) -> Device:
    """The device with three levels; itself if it has them."""
    if device.has_level(2):
        return device
    dram, inner, way = device.level(device.dram_level), device.dma(1), device.link(device.dram_level, 1)
    lanes = device.ways.hop(device.dram_level, 1)[1].lanes
    block = replace(dram, name="L2", number=2, shared_by=SharedBy.ARRAY, reserved_bytes=0, banks=1, alignment_bytes=4)
    dma = replace(
        inner,
        name="block dma",
        level=2,
        place="block",
        shared_by=SharedBy.ARRAY,
        pads_with_zeros=True,
        channels_in=lanes + 1,
        channels_out=lanes + 1,
        descriptors=_PLENTY,
        descriptor_groups=1,
        locks=_PLENTY,
        neighbour_channels=0,
    )
    links = (replace(way, inner_level=2), replace(way, outer_level=2))
    hops = (
        Hop(from_level=3, to_level=2, sender="dram_out", receiver="block_in", lanes=lanes),
        Hop(from_level=2, to_level=1, sender="block_out", receiver="inner_in", lanes=lanes),
        Hop(from_level=1, to_level=2, sender="inner_out", receiver="result_in"),
        Hop(from_level=2, to_level=3, sender="result_out", receiver="dram_in"),
    )
    levels, dmas = (*device.levels, block), (*device.dmas, dma)
    changed = {"levels": levels, "dmas": dmas, "links": (*device.links, *links), "hops": hops}
    return PlannedDevice(**{field.name: getattr(device, field.name) for field in fields(device)} | changed)


def goes_around_l2(device: Device) -> bool:
    """Whether a device's level 2 isn't real: what comes into it must go on as it came."""
    return isinstance(device, PlannedDevice)
