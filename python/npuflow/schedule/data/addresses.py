"""Where buffers lie in their memories: one after the other, aligned, within banks. Pure.

A buffer with all of its slots lies in one bank of a memory if it fits there, else its first slot does, as far as that
costs no more than the memory has: a core and a channel that use different buffers then meet in a bank less often.

Where a level has no room for all of them apart, buffers lie in the place of others that the schedule is done with
before (`order`).

All memories of a level are laid out alike, so an address is a number, or for what is divided by rows a step per row
that the memory tile serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from npuflow.schedule.data.model import Address, Buffer, Schedule
from npuflow.schedule.data.order import Order
from npuflow.target import Device, MemoryLevel


def assign_addresses(schedule: Schedule, device: Device) -> bool:
    """Gives every on-chip buffer its address, in place; whether all have room."""
    order = Order(schedule)
    found = [_assign(schedule, level, order) for level in device.levels if level.number != device.dram_level]
    return all(found)


def _assign(schedule: Schedule, level: MemoryLevel, order: Order) -> bool:
    """The first layout that the level has room for, else the one that needs least."""
    best: _Layout | None = None
    for layout in _layouts(schedule, level, order):
        best = layout if best is None or layout.end < best.end else best
        if layout.end <= level.usable_bytes:
            break
    for name, start in best.starts.items() if best else ():
        buffer = schedule.buffers[name]
        step = _size(buffer, level) if _instances(buffer, schedule) > 1 else 0
        address = Address(start, step, schedule.extents["tile"] if step else 1)
        schedule.buffers[name] = replace(buffer, address=address)
    return best is None or best.end <= level.usable_bytes


@dataclass(frozen=True)
class _Layout:
    """Where buffers begin, and where the last one ends."""

    starts: Mapping[str, int]
    end: int


def _layouts(schedule: Schedule, level: MemoryLevel, order: Order) -> Iterator[_Layout]:
    """All apart, then in each other's places, in the schedule's order or the largest first; within banks, then not."""
    buffers = [buffer for buffer in schedule.buffers.values() if buffer.level == level.number]
    if not buffers:
        return
    largest = sorted(buffers, key=lambda buffer: -_size(buffer, level) * _instances(buffer, schedule))
    banks = (level.bytes // level.banks, None)
    for bank_bytes in banks:
        yield _layout(schedule, buffers, level, bank_bytes, None)
    for ordered in (buffers, largest):
        for bank_bytes in banks:
            yield _layout(schedule, ordered, level, bank_bytes, order)


def _layout(
    schedule: Schedule, buffers: Sequence[Buffer], level: MemoryLevel, bank_bytes: int | None, order: Order | None
) -> _Layout:
    """One after the other, or each as low as can be; what a bank holds doesn't reach from one into the next."""
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for buffer in buffers:
        size, slot_bytes = _size(buffer, level), aligned_slot_bytes(buffer, level.alignment_bytes)
        beside = [name for name in starts if order is None or not order.is_ordered(name, buffer.name)]
        places = {0, *(ends[name] for name in beside)}
        for free in sorted(places) if order else (max(places),):
            start = -(-free // level.alignment_bytes) * level.alignment_bytes
            if bank_bytes is not None:
                start = _within_bank(start, size, slot_bytes, bank_bytes)
            end = start + size * _instances(buffer, schedule)
            if all(end <= starts[name] or ends[name] <= start for name in beside):
                break
        starts[buffer.name], ends[buffer.name] = start, end
    return _Layout(starts, max(ends.values()))


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
