"""Homes of tensors beside memory tiles: slabs, the channels that serve them, and what these need. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import Program
from npuflow.target import Device

HOME_LEVEL = 2


@dataclass(frozen=True)
class HomePort:
    """A tensor, by the name of its memory, its slabs' columns in order, and the channel that serves each."""

    tensor: str
    slabs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class HomeChain:
    """Descriptors that a phase needs beside a column's memory tile for what is at home, in a group of channels."""

    column: int
    group: int
    descriptors: int
    content: str


def free_channels(program: Program, device: Device, side: Side, column: int) -> tuple[int, ...]:
    """The channels beside a memory tile that a program leaves alone."""
    taken = {engine.name for engine in program.engines}
    names = channels_beside(device, side, column)
    return tuple(number for name, number in names.items() if name not in taken)


def channels_beside(device: Device, side: Side, column: int) -> dict[str, int]:
    """The channels beside a column's memory tile, by name."""
    dma, platform = device.dma(HOME_LEVEL), Platform(device)
    count = dma.channels_in if side is Side.IN else dma.channels_out
    return {platform.channel_name(HOME_LEVEL, side, (0, column), number): number for number in range(count)}


def slab_bytes(size: int, count: int, device: Device) -> int:
    """The bytes of each of `count` slabs of a tensor but the last, which may have fewer."""
    alignment = device.level(HOME_LEVEL).alignment_bytes
    return -(-size // (count * alignment)) * alignment
