"""What is to be laid into a memory, and how it lies there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LiveBuffer:
    """A buffer that lives from time `lower` to before `upper`, and begins at a multiple of `alignment` bytes."""

    name: str
    lower: int
    upper: int
    size: int
    alignment: int = 1


@dataclass(frozen=True)
class Packing:
    """Where each buffer begins, in bytes; what all of it needs, and a bound that no packing can be below."""

    offsets: tuple[int, ...]
    need_bytes: int
    bound_bytes: int


def packing_of(buffers: Sequence[LiveBuffer], offsets: Sequence[int], bound_bytes: int) -> Packing:
    need = max((start + buffer.size for buffer, start in zip(buffers, offsets, strict=True)), default=0)
    return Packing(tuple(offsets), need, bound_bytes)


def aligned(address: int, alignment: int) -> int:
    """The lowest multiple of `alignment` from `address` on."""
    return -(-address // alignment) * alignment


def live_bytes(buffers: Sequence[LiveBuffer]) -> Iterator[tuple[int, int]]:
    """Each time at which something changes, and what lives from then on."""
    changes: dict[int, int] = {}
    for buffer in buffers:
        changes[buffer.lower] = changes.get(buffer.lower, 0) + buffer.size
        changes[buffer.upper] = changes.get(buffer.upper, 0) - buffer.size
    total = 0
    for time in sorted(changes):
        total += changes[time]
        yield time, total


def peak_bytes(buffers: Sequence[LiveBuffer]) -> int:
    """The most that lives at one time: no packing needs less."""
    return max((total for _, total in live_bytes(buffers)), default=0)


def parts(buffers: Sequence[LiveBuffer]) -> list[list[int]]:
    """The buffers, by their indices, in sets between which no time is shared."""
    found: list[list[int]] = []
    end = 0
    for index in sorted(range(len(buffers)), key=lambda i: buffers[i].lower):
        buffer = buffers[index]
        if not found or buffer.lower >= end:
            found.append([])
            end = buffer.upper
        found[-1].append(index)
        end = max(end, buffer.upper)
    return found
