"""What a schedule keeps in memories: buffers, locks and the cores' programs, against what a device has. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

from npuflow.errors import Shortage, first_of
from npuflow.schedule.assign.locks import lock_users
from npuflow.schedule.assign.programs import kernel_calls, program_users
from npuflow.schedule.check.numbers import lock_clashes
from npuflow.schedule.check.violations import Need, Violation, keep_worst, ranked
from npuflow.schedule.data import model
from npuflow.schedule.data.addresses import aligned_slot_bytes
from npuflow.schedule.data.channels import Memory, memory_at
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.order import Order
from npuflow.target import Device


def capacity_violations(schedule: Schedule, device: Device, code_bytes: Mapping[str, int]) -> list[Violation]:
    """Every memory, set of locks and program that is too small for the schedule; `code_bytes` are the kernels'."""
    needs = (_memories(schedule, device), _locks(schedule, device), _tasks(schedule, device))
    return [*chain.from_iterable(needs), *_programs(schedule, device, code_bytes)]


def lacks_locks(schedule: Schedule, device: Device) -> bool:
    """Whether engines beside a memory need more locks than it has."""
    return any(True for _ in _locks(schedule, device))


@dataclass(frozen=True)
class _Range:
    """The bytes of a buffer in one memory."""

    start: int
    end: int
    buffer: model.Buffer


def _memories(schedule: Schedule, device: Device) -> Iterator[Violation]:
    for buffer in schedule.buffers.values():
        yield from _alignment(buffer, device)
    needs: dict[tuple[int, int], Need] = {}
    overlaps: dict[tuple[str, str], Violation] = {}
    order = Order(schedule)
    for memory, ranges in _ranges(schedule, device).items():
        ordered = sorted(ranges, key=lambda r: (r.start, r.end))
        together = list(_overlapping(ordered)) if memory.level < device.dram_level else []
        for one, other in together:
            if not order.is_ordered(one.buffer.name, other.buffer.name):
                overlaps.setdefault((one.buffer.name, other.buffer.name), _overlap(memory, one, other))
        last = max(ordered, key=lambda r: r.end)
        # Where buffers take each other's place, those that are in use with the last one are what it lies behind.
        beside = [
            r for r in ordered if not together or r is last or not order.is_ordered(r.buffer.name, last.buffer.name)
        ]
        users = tuple((r.buffer.name, r.end - r.start) for r in beside)
        keep_worst(needs, (memory.level, 0), Need(memory, last.end, users, last.buffer.location))
    yield from overlaps.values()
    for (level, _), need in needs.items():
        have = device.level(level).usable_bytes
        if need.need > have:
            place = device.level(level).name + ("" if level == device.dram_level else f" of {need.memory}")
            what, hint = need.text("bytes", have, place), "use smaller tiles or fewer slots"
            shortage = Shortage(level, need.need, have, unit="bytes") if level < device.dram_level else None
            yield Violation(what, hint, need.location, shortage=shortage)


def _alignment(buffer: model.Buffer, device: Device) -> Iterator[Violation]:
    alignment = device.level(buffer.level).alignment_bytes
    for number in (buffer.address.base, buffer.address.step):
        if number % alignment:
            what = (
                f"buffer '{buffer.name}' lies at a multiple of {number} bytes, level {buffer.level} needs {alignment}"
            )
            yield Violation(what, f"round its address up to a multiple of {alignment}", buffer.location)


def _overlapping(ordered: Sequence[_Range]) -> Iterator[tuple[_Range, _Range]]:
    """The pairs that have bytes in common; ranges come by where they start."""
    for number, one in enumerate(ordered):
        behind = takewhile(lambda other: other.start < one.end, ordered[number + 1 :])  # noqa: B023
        yield from ((one, other) for other in behind)


def _overlap(memory: Memory, one: _Range, other: _Range) -> Violation:
    ends = f"'{one.buffer.name}' up to byte {one.end} and '{other.buffer.name}' from byte {other.start}"
    what = f"{ends} overlap in {memory}"
    return Violation(what, "move one of them, or give it fewer slots", other.buffer.location)


def _ranges(schedule: Schedule, device: Device) -> dict[Memory, list[_Range]]:
    """Who lies where; DRAM is one memory, in which every tensor follows the one before."""
    found: dict[Memory, list[_Range]] = defaultdict(list)
    dram = 0
    for buffer in schedule.buffers.values():
        if buffer.level == device.dram_level:
            found[Memory(buffer.level, 0, 0, device.ways.places[buffer.level])].append(
                _Range(dram, dram + buffer.slot_bytes, buffer)
            )
            dram += buffer.slot_bytes
            continue
        size = aligned_slot_bytes(buffer, device.level(buffer.level).alignment_bytes) * buffer.depth
        for place in schedule.places(buffer.span):
            memory = memory_at(device.ways.places[buffer.level], place, schedule)
            start = buffer.address.at(place[buffer.span[0]] if buffer.span else 0)
            found[memory].append(_Range(start, start + size, buffer))
    return found


def _locks(schedule: Schedule, device: Device) -> Iterator[Violation]:
    used: dict[Memory, dict[str, int]] = defaultdict(dict)
    users = lock_users(schedule)
    for name, memories in users.items():
        for memory, places in memories.items():
            used[memory][name] = len(places)
    needs: dict[tuple[int, int], Need] = {}
    for memory, locks in used.items():
        counts = tuple(locks.items())
        location = schedule.semaphores[max(counts, key=lambda user: user[1])[0]].location
        keep_worst(needs, (memory.level, 0), Need(memory, sum(n for _, n in counts), counts, location))
    short: set[tuple[int, int]] = set()
    for (level, _), need in needs.items():
        have = device.dma(level).locks
        if need.need > have:
            short.add((level, 0))
            hint = "let fewer engines share it, or use fewer buffers"
            shortage = Shortage(level, need.need, have, unit="locks")
            yield Violation(need.text("locks", have), hint, need.location, shortage=shortage)
    levels = {name: memory.level for memory, locks in used.items() for name in locks}
    for name, level in levels.items():
        semaphore, most = schedule.semaphores[name], device.dma(level).lock_max
        if semaphore.maximum > most:
            what = f"semaphore '{name}' counts to {semaphore.maximum}, a lock of level {level} to {most}"
            yield Violation(what, "use fewer slots", semaphore.location)
    yield from lock_clashes(schedule, device, users, short)


def _tasks(schedule: Schedule, device: Device) -> Iterator[Violation]:
    """Tasks that wait in the queue of a channel to DRAM."""
    have = device.dma(device.dram_level).queue_depth
    for semaphore in schedule.semaphores.values():
        if semaphore.cause == "task" and semaphore.maximum > have:
            what = f"semaphore '{semaphore.name}' counts to {semaphore.maximum} tasks, a channel's queue holds {have}"
            yield Violation(what, f"let its maximum be {have} at most", semaphore.location)


def _programs(schedule: Schedule, device: Device, code_bytes: Mapping[str, int]) -> Iterator[Violation]:
    """Of a core: starting up, its steps, and its kernels."""
    room = {engine.name: engine.program_bytes for engine in device.engines}
    for engine in schedule.engines.values():
        have, place = room.get(engine.stage.name, 0), engine.stage.place
        if place is None or not have:
            continue
        calls, users = kernel_calls(engine, schedule), program_users(engine, schedule, code_bytes)
        need = sum(size for _, size in users)
        if need > have:
            largest, size = max(users, key=lambda user: user[1])
            hint = "let functions come apart (--split), so that each part has fewer kernels"
            if 2 * size > have:
                hint = f"let {largest} do less: hand over a part of it in a tensor"
            which = first_of(ranked(users))
            what = f"the program of '{engine.name}' needs about {need} bytes, a {place.name} has {have} ({which})"
            shortage = Shortage(device.kernel_level, need, have, unit="program")
            yield Violation(what, hint, calls.get(largest) or engine.location, shortage=shortage)
