"""Which channels, descriptors and locks a schedule takes: numbers, where it doesn't say them itself. Pure.

Like things beside one memory have a number each, in the order of their coordinates; all memories of a level are
numbered alike. Descriptors and locks are taken one after the other from the first that is free, whether or not there
are so many: what is too much, `schedule.check` says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from npuflow.schedule.assign.descriptors import Use, channel_uses
from npuflow.schedule.assign.locks import lock_users
from npuflow.schedule.data import model
from npuflow.schedule.data.channels import usual_channels
from npuflow.schedule.data.model import Descriptors, Schedule
from npuflow.target import Device, Stage


def numbered(schedule: Schedule, device: Device) -> Schedule:
    """The schedule with a number for every channel, descriptor and lock; what it says itself stays."""
    engines = {name: _with_channels(engine, schedule) for name, engine in schedule.engines.items()}
    whole = replace(schedule, engines=engines)
    whole.engines = _with_descriptors(whole, device)
    whole.semaphores = _with_locks(whole)
    return whole


def transfers_of(steps: Sequence[model.Step]) -> Iterator[model.Send | model.Receive]:
    """Every transfer of a program, in order."""
    for step in steps:
        if isinstance(step, (model.Send, model.Receive)):
            yield step
        elif isinstance(step, (model.Repeat, model.Each)):
            yield from transfers_of(step.body)


def descriptors_taken(schedule: Schedule) -> dict[tuple[Stage, str], int]:
    """The descriptors that one engine of each stage takes for each buffer."""
    found: dict[tuple[Stage, str], int] = defaultdict(int)
    for engine in schedule.engines.values():
        for transfer in transfers_of(engine.program):
            if transfer.descriptors is not None:
                found[engine.stage, transfer.access.buffer.name] += transfer.descriptors.count
    return found


def _with_channels(engine: model.Engine, schedule: Schedule) -> model.Engine:
    if engine.channels or not engine.stage.is_channel:
        return engine
    return replace(engine, channels=usual_channels(engine, schedule))


@dataclass
class _Free:
    """Numbers that nobody has taken, from `next` on."""

    next: int
    _taken: list[tuple[int, int]] = field(default_factory=list)

    def occupy(self, first: int, count: int) -> None:
        """So many from the first on are somebody's."""
        self._taken.append((first, first + count))

    def take(self, count: int) -> int:
        """The first of so many in a row."""
        for first, behind in sorted(self._taken):
            if first >= self.next + count:
                break
            self.next = max(self.next, behind)
        self.next += count
        return self.next - count


# Descriptors


def _with_descriptors(schedule: Schedule, device: Device) -> dict[str, model.Engine]:
    engines = schedule.engines
    missing = {
        name for name, engine in engines.items() if any(t.descriptors is None for t in transfers_of(engine.program))
    }
    if not missing:
        return engines
    free = {dma.level: _free_descriptors(schedule, dma.level, device) for dma in device.dmas}
    return {
        name: _describe(engine, channel_uses(engine, schedule, device), free) if name in missing else engine
        for name, engine in engines.items()
    }


def _free_descriptors(schedule: Schedule, level: int, device: Device) -> list[_Free]:
    """Those of each group of the channels of a level."""
    dma = device.dma(level)
    free = [_Free(group * (dma.descriptors // dma.descriptor_groups)) for group in range(dma.descriptor_groups)]
    for engine in schedule.engines.values():
        for transfer in transfers_of(engine.program) if engine.stage.level == level else ():
            for channel, first in zip(engine.channels, transfer.descriptors.first if transfer.descriptors else ()):
                count = transfer.descriptors.count if transfer.descriptors else 0
                free[channel % len(free)].occupy(first, count)
    return free


def _describe(engine: model.Engine, uses: list[Use], free: dict[int, list[_Free]]) -> model.Engine:
    """The engine with descriptors for its transfers; tasks of one queue follow each other on the same ones."""
    level = engine.stage.level
    if level is None or not uses:
        return engine
    groups = [free[level][channel % len(free[level])] for channel in engine.channels]
    if engine.stage.at_dram:
        most = max(use.descriptors for use in uses)
        first = tuple(group.take(most) for group in groups)
        taken = [Descriptors(first, use.descriptors) for use in uses]
    else:
        taken = [Descriptors(tuple(group.take(use.descriptors) for group in groups), use.descriptors) for use in uses]
    return replace(engine, program=_described(engine.program, iter(taken)))


def _described(steps: Iterable[model.Step], taken: Iterator[Descriptors]) -> tuple[model.Step, ...]:
    done: list[model.Step] = []
    for step in steps:
        if isinstance(step, (model.Repeat, model.Each)):
            done.append(replace(step, body=_described(step.body, taken)))
        elif isinstance(step, (model.Send, model.Receive)):
            its = next(taken)
            done.append(step if step.descriptors else replace(step, descriptors=its))
        else:
            done.append(step)
    return tuple(done)


# Locks


def _with_locks(schedule: Schedule) -> dict[str, model.Semaphore]:
    semaphores = schedule.semaphores
    if all(semaphore.locks or semaphore.cause == "task" for semaphore in semaphores.values()):
        return semaphores
    users = lock_users(schedule)
    levels = {name: {memory.level for memory in its} for name, its in users.items()}
    free: dict[int, _Free] = defaultdict(lambda: _Free(0))
    for name, its in levels.items():
        for level in its:
            for lock in semaphores[name].locks:
                free[level].occupy(lock, 1)
    done = dict(semaphores)
    for name in (name for name in semaphores if name in users and not semaphores[name].locks):
        count = max(len(places) for places in users[name].values())
        # Beside memories of several levels, as no schedule of ours has it, a lock has one number in all of them.
        first = max(free[level].take(count) for level in levels[name])
        done[name] = replace(semaphores[name], locks=tuple(range(first, first + count)))
    return done
