"""Where buffers lie in their memories: one after the other, aligned, within banks. Pure.

A buffer with all of its slots lies in one bank of a memory if it fits there, else its first slot does, as far as that
costs no more than the memory has: a core and a channel that use different buffers then meet in a bank less often.

All memories of a level are laid out alike, so an address is a number, or for what is divided by rows a step per row
that the memory tile serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npuflow.schedule.data.model import Address, Buffer, Schedule
from npuflow.target import Device, MemoryLevel


def assign_addresses(schedule: Schedule, device: Device) -> None:
    """Gives every on-chip buffer its address, in place; within a bank where there is room for that."""
    for level in (level for level in device.levels if level.number != device.dram_level):
        apart = _layout(schedule, level, level.bytes // level.banks)
        starts = apart.starts if apart.end <= level.usable_bytes else _layout(schedule, level, None).starts
        for name, start in starts.items():
            buffer = schedule.buffers[name]
            step = _size(buffer, level) if _instances(buffer, schedule) > 1 else 0
            address = Address(start, step, schedule.extents["tile"] if step else 1)
            schedule.buffers[name] = replace(buffer, address=address)


@dataclass(frozen=True)
class _Layout:
    """Where buffers begin, and where the last one ends."""

    starts: Mapping[str, int]
    end: int


def _layout(schedule: Schedule, level: MemoryLevel, bank_bytes: int | None) -> _Layout:
    """Buffers one after the other; what a bank can hold, if it has banks, doesn't reach from one into the next."""
    starts, free = {}, 0
    for name, buffer in schedule.buffers.items():
        if buffer.level != level.number:
            continue
        start = -(-free // level.alignment_bytes) * level.alignment_bytes
        size = _size(buffer, level)
        if bank_bytes is not None:
            start = _within_bank(start, size, aligned_slot_bytes(buffer, level.alignment_bytes), bank_bytes)
        starts[name] = start
        free = start + size * _instances(buffer, schedule)
    return _Layout(starts, free)


def _within_bank(start: int, size: int, slot_bytes: int, bank_bytes: int) -> int:
    """Where all slots, or else the first, don't cross into another bank; `start` itself for what no bank can hold."""
    together = size if size <= bank_bytes else slot_bytes
    crosses = start // bank_bytes != (start + together - 1) // bank_bytes
    return -(-start // bank_bytes) * bank_bytes if crosses and together <= bank_bytes else start


def _size(buffer: Buffer, level: MemoryLevel) -> int:
    return aligned_slot_bytes(buffer, level.alignment_bytes) * buffer.depth


def _instances(buffer: Buffer, schedule: Schedule) -> int:
    """How many rows' parts a memory tile holds."""
    return schedule.extents["part"] if buffer.span == ("row",) else 1


def aligned_slot_bytes(buffer: Buffer, alignment: int) -> int:
    return -(-buffer.slot_bytes // alignment) * alignment


def used_bytes(schedule: Schedule, device: Device, level: int) -> int:
    """How far a level's memories are taken."""
    end = 0
    for buffer in schedule.buffers.values():
        if buffer.level != level:
            continue
        size = _size(buffer, device.level(level)) * _instances(buffer, schedule)
        end = max(end, buffer.address.base + size)
    return end
