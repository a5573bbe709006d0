"""Homes of tensors beside memory tiles: slabs, the channels that serve them, and what these need. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.network.spread import TensorSpread
from npuflow.target import Device

HOME_LEVEL = 2


@dataclass(frozen=True)
class SlabPort:
    """A slab's column, and the channels that serve it: those it goes to, or comes from, are divided among them."""

    column: int
    channels: tuple[int, ...]


@dataclass(frozen=True)
class HomePort:
    """A tensor, by the name of its memory, and its slabs in order.

    Its pieces of `piece_bytes` are dealt out to the slabs in turn; where there is one for each, they lie in a row.
    """

    tensor: str
    slabs: tuple[SlabPort, ...]
    piece_bytes: int


@dataclass(frozen=True)
class NearTensor:
    """A tensor by the name of its memory, in slabs of so many bytes, where channels beside DRAM reach it.

    With a `spread` clusters have it where they make it, and kernels read it there.
    """

    name: str
    slab_bytes: int
    spread: TensorSpread | None = None


@dataclass(frozen=True)
class HomeChain:
    """Descriptors that a phase needs beside a column's memory tile for what is at home, in a group of channels.

    With `instead`, which says whether it leads inward and its number, they are all that a channel needs then.
    """

    column: int
    group: int
    descriptors: int
    content: str
    instead: tuple[bool, int] | None = None


def slab_bytes(size: int, count: int, device: Device) -> int:
    """The bytes of each of `count` slabs of a tensor but the last, which may have fewer."""
    alignment = device.level(HOME_LEVEL).alignment_bytes
    return -(-size // (count * alignment)) * alignment
