"""Where buffers lie in their memories: one after the other, aligned. Pure.

All memories of a level are laid out alike, so an address is a number, or for what is divided by rows a step per row
that the memory tile serves.
"""

from __future__ import annotations

from dataclasses import replace

from npuflow.schedule.model import Address, Buffer, Schedule
from npuflow.target import Device


def assign_addresses(schedule: Schedule, device: Device) -> None:
    """Gives every on-chip buffer its address, in place."""
    next_free = {1: 0, 2: 0}
    for name, buffer in schedule.buffers.items():
        if buffer.level not in next_free:
            continue
        alignment = device.level(buffer.level).alignment_bytes
        start = -(-next_free[buffer.level] // alignment) * alignment
        size = aligned_slot_bytes(buffer, alignment) * buffer.depth
        instances = schedule.extents["part"] if buffer.span == ("row",) else 1
        step = size if instances > 1 else 0
        schedule.buffers[name] = replace(buffer, address=Address(start, step, schedule.extents["tile"] if step else 1))
        next_free[buffer.level] = start + size * instances


def aligned_slot_bytes(buffer: Buffer, alignment: int) -> int:
    return -(-buffer.slot_bytes // alignment) * alignment


def used_bytes(schedule: Schedule, device: Device, level: int) -> int:
    """How far a level's memories are taken."""
    end = 0
    for buffer in schedule.buffers.values():
        if buffer.level != level:
            continue
        size = aligned_slot_bytes(buffer, device.level(level).alignment_bytes) * buffer.depth
        instances = schedule.extents["part"] if buffer.span == ("row",) else 1
        end = max(end, buffer.address.base + size * instances)
    return end
