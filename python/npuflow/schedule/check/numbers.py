"""Whether assigned numbers hold: channels, descriptors and locks are there, in their group, and one thing's each. Pure.

Where there are too few, that is told elsewhere, once, with who needs how many: their numbers then mean nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from npuflow.schedule.assign.assign_numbers import transfers_of
from npuflow.schedule.assign.descriptors import Use
from npuflow.schedule.assign.locks import lock_users
from npuflow.schedule.check.violations import Violation
from npuflow.schedule.data import model
from npuflow.schedule.data.channels import Channel, Memory, channel_of, count_beside, numbers_beside
from npuflow.schedule.data.model import Schedule
from npuflow.target import Device

# Of a (level, group of channels) with too few descriptors, or a (level, 0) with too few locks.
Short = Collection[tuple[int, int]]


def unlisted(schedule: Schedule) -> list[Violation]:
    """Lists of numbers that are too short or too long; without them, nobody knows whose number is whose."""
    return [*_unlisted_channels(schedule), *_unlisted_descriptors(schedule), *_unlisted_locks(schedule)]


def _unlisted_channels(schedule: Schedule) -> Iterator[Violation]:
    for engine in schedule.engines.values():
        have = len(engine.channels)
        if not engine.stage.is_channel:
            if have:
                what = f"'{engine.name}' of stage {engine.stage.name} has channels {list(engine.channels)}"
                yield Violation(what, "it is none: leave them out", engine.location)
            continue
        need = count_beside(engine, schedule)
        if have and have != need:
            what = f"'{engine.name}' has {have} channels, and {need} of it are beside one memory"
            yield Violation(what, "number each of these, in the order of their coordinates", engine.location)


def _unlisted_descriptors(schedule: Schedule) -> Iterator[Violation]:
    for engine in schedule.engines.values():
        need = count_beside(engine, schedule) if engine.stage.is_channel else 0
        for transfer in transfers_of(engine.program):
            have = len(transfer.descriptors.first) if transfer.descriptors else need
            if have != need:
                what = f"a transfer of '{engine.name}' has {have} first descriptors for {need} channels of a memory"
                yield Violation(what, "give the first one of each channel", transfer.location or engine.location)


def _unlisted_locks(schedule: Schedule) -> Iterator[Violation]:
    for name, memories in lock_users(schedule).items():
        semaphore = schedule.semaphores[name]
        need = max(map(len, memories.values()))
        if semaphore.locks and len(semaphore.locks) != need:
            what = f"semaphore '{name}' has {len(semaphore.locks)} locks, and {need} of it lie in one memory"
            yield Violation(what, "number each of these, in the order of their coordinates", semaphore.location)


@dataclass
class _Taken:
    """Who has which number beside a memory; each clash of two is told once."""

    what: str
    users: dict[tuple[Memory, int], str] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)

    def take(self, memory: Memory, number: int, user: str) -> Iterator[tuple[str, str]]:
        """What clashes, and a hint."""
        other = self.users.setdefault((memory, number), user)
        if other != user and (other, user) not in self.told:
            self.told.add((other, user))
            yield f"{other} and {user} both take {self.what} {number} of {memory}", "number them apart"


def descriptor_clashes(
    schedule: Schedule, device: Device, uses: Mapping[str, list[Use]], short: Short
) -> Iterator[Violation]:
    """Descriptors that are another channel's or transfer's, of another group, or not there; and wrong counts."""
    taken = _Taken("descriptor")
    for engine in schedule.engines.values():
        for use in uses[engine.name]:
            said = use.transfer.descriptors
            if said is not None and said.count != use.descriptors:
                what = f"'{engine.name}' has {said.count} descriptors for '{use.transfer.access.buffer.name}'"
                hint = "give it as many as its pattern takes"
                yield Violation(f"{what}, which takes {use.descriptors}", hint, use.transfer.location)
        for place in schedule.places(engine.span) if engine.stage.is_channel else ():
            channel = channel_of(engine, place, schedule)
            dma = device.dma(channel.memory.level) if channel else None
            if channel and dma and (channel.memory.level, channel.number % dma.descriptor_groups) not in short:
                beside = numbers_beside(engine, schedule)[tuple(place[name] for name in engine.span)]
                yield from _descriptors_at(engine, channel, beside, device, taken)


def _descriptors_at(
    engine: model.Engine, channel: Channel, beside: int, device: Device, taken: _Taken
) -> Iterator[Violation]:
    dma = device.dma(channel.memory.level)
    share = dma.descriptors // dma.descriptor_groups
    begin = channel.number % dma.descriptor_groups * share
    for number, transfer in enumerate(transfers_of(engine.program)):
        if transfer.descriptors is None:
            continue
        first, count = transfer.descriptors.first[beside], transfer.descriptors.count
        if not begin <= first <= first + count <= begin + share:
            what = f"'{engine.name}' takes descriptors {first} to {first + count - 1} of {channel.memory}"
            hint = f"channel {channel.number} can have {begin} to {begin + share - 1}"
            yield Violation(what, hint, transfer.location or engine.location)
            return
        user = f"'{engine.name}'" if engine.stage.at_dram else f"transfer {number} of '{engine.name}'"
        for descriptor in range(first, first + count):
            for what, hint in taken.take(channel.memory, descriptor, user):
                yield Violation(what, hint, transfer.location or engine.location)


def lock_clashes(
    schedule: Schedule, device: Device, users: Mapping[str, Mapping[Memory, Collection[object]]], short: Short
) -> Iterator[Violation]:
    """Locks that are another semaphore's, or not there; `users` are those of each semaphore beside a memory."""
    taken, told = _Taken("lock"), set()
    for name, memories in users.items():
        semaphore = schedule.semaphores[name]
        for memory, places in memories.items():
            have = device.dma(memory.level).locks
            for number, _ in zip(semaphore.locks, places) if (memory.level, 0) not in short else ():
                if not 0 <= number < have and name not in told:
                    told.add(name)
                    what = f"semaphore '{name}' is lock {number} of {memory}, which has {have}"
                    yield Violation(what, f"number locks from 0 to {have - 1}", semaphore.location)
                for what, hint in taken.take(memory, number, f"'{name}'"):
                    yield Violation(what, hint, semaphore.location)
