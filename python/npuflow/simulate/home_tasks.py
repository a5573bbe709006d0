"""Tasks of the control processor that move a tensor at home: taken out of a program, in parts by slab. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from npuflow.core.once_of_object import once_of_object
from npuflow.simulate.channel_tasks import ChannelTask, FlatTransfer, steps_of, tasks_of
from npuflow.simulate.home_ports import HomePort
from npuflow.simulate.platform import Platform
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatControl,
    FlatEngine,
    FlatRelease,
    FlatStep,
    Program,
)
from npuflow.simulate.shares import Share
from npuflow.simulate.slabs import SlabPart, dealt_parts, slab_parts
from npuflow.target import Device


class NotAtHomeError(Exception):
    """A program whose tensor can't be at home; the text says why."""


@dataclass(frozen=True)
class SlabTransfer:
    """What of a transfer is in a slab, the `turn`th part of it; `descriptors` is how many it takes."""

    user: str
    slab: int
    turn: int
    transfer: FlatTransfer
    share: Share
    descriptors: int


@dataclass(frozen=True)
class TakenTasks:
    """What is left of the control processor's steps, and of those of the channels that moved the tensor.

    `parts` has, for each stream, what becomes of each transfer on it: the parts of one of the tensor's, None of others.
    """

    control: list[FlatStep] = field(default_factory=list)
    left: dict[str, list[FlatStep]] = field(default_factory=dict)
    parts: dict[str, list[list[SlabTransfer] | None]] = field(default_factory=lambda: defaultdict(list))


def taken_tasks(program: Program, device: Device, port: HomePort, users: Sequence[FlatEngine]) -> TakenTasks:
    """A tensor's tasks, which channels of shims do; raises NotAtHomeError where they can't be told from others."""
    tasks = _TakingTasks(program, device, port, users)
    tasks.take()
    return tasks.found


@dataclass(frozen=True)
class _TakingTasks:
    program: Program
    device: Device
    port: HomePort
    users: Sequence[FlatEngine]
    found: TakenTasks = field(default_factory=TakenTasks)

    def take(self) -> None:
        (control,) = [engine for engine in self.program.engines if engine.kind == "control"]
        tasks = {engine.name: tasks_of(engine) for engine in self.users}
        by_task = {task.waits.semaphore: name for name, own in tasks.items() for task in own}
        number: dict[str, int] = defaultdict(int)
        self.found.left.update({name: [] for name in tasks})
        for semaphore, steps in handed_out(control):
            user = by_task.get(semaphore)
            if user is None:
                self.found.control.extend(steps)
                continue
            task = tasks[user][number[user]]
            number[user] += 1
            if not self._takes(user, task, steps):
                self.found.left[user] += task.steps
                self.found.control.extend(steps)
        if any(number[name] != len(own) for name, own in tasks.items()):
            raise NotAtHomeError("its tasks are handed out in another way than one by one")

    def _takes(self, user: str, task: ChannelTask, steps: Sequence[FlatStep]) -> bool:
        """Whether a task is the tensor's; notes what it transfers."""
        own = [transfer.access.buffer == self.port.tensor for transfer in task.transfers]
        if any(own) and not all(own):
            raise NotAtHomeError("it is moved in one task with another tensor")
        each = max(1, Platform(self.device).cycles(self.device.control.descriptor_seconds))
        cycles = sum(step.cycles for step in steps if isinstance(step, FlatControl))
        descriptors = -(-cycles // (each * len(task.transfers)))
        for transfer in task.transfers:
            self.found.parts[transfer.stream].append(self._split(user, transfer, descriptors) if any(own) else None)
        return any(own)

    def _split(self, user: str, transfer: FlatTransfer, descriptors: int) -> list[SlabTransfer]:
        """The parts of a transfer; each channel begins with another slab."""
        parts = _parts_of(transfer.access, self.port.piece_bytes, len(self.port.slabs) if self.is_dealt else 0)
        first = [each.name for each in self.users].index(user) % len(parts)
        kind, stream, name = type(transfer), transfer.stream, transfer.name
        return [
            SlabTransfer(user, part.slab, turn, kind(stream, part.access, name), part.share, descriptors)
            for turn, part in enumerate([*parts[first:], *parts[:first]])
        ]

    @cached_property
    def is_dealt(self) -> bool:
        """Whether a slab has several pieces of the tensor."""
        (size,) = [memory.bytes for memory in self.program.memories if memory.name == self.port.tensor]
        return self.port.piece_bytes * len(self.port.slabs) < size


# A tensor is tried in several places, and beside several others: most of its transfers are asked again.
@lru_cache(maxsize=4096)
def _parts_of(access: FlatAccess, piece_bytes: int, dealt_to: int) -> tuple[SlabPart, ...]:
    """The parts of an access to a tensor in slabs, or whose pieces are dealt out to so many in turn."""
    own, piece = replace(access, run_overhead_bytes=0.0), piece_bytes // access.element_bytes
    parts = dealt_parts(own, piece, dealt_to) if dealt_to else slab_parts(own, piece)
    if parts is None:
        raise NotAtHomeError("it goes through pieces of slabs in another way than along one dimension")
    return tuple(parts)


@once_of_object
def handed_out(control: FlatEngine) -> tuple[tuple[str, tuple[FlatStep, ...]], ...]:
    """The control processor's steps, together where they hand out a task by a semaphore."""
    found, steps, position = list[tuple[str, tuple[FlatStep, ...]]](), steps_of(control), 0
    while position < len(steps):
        semaphore = handed_to(steps[position : position + 3])
        count = 3 if semaphore else 1
        found.append((semaphore, steps[position : position + count]))
        position += count
    return tuple(found)


def handed_to(steps: Sequence[FlatStep]) -> str:
    """The semaphore by which a task is handed out, where steps take room in a queue, set it up and do that."""
    match steps:
        case FlatAcquire(), FlatControl(), FlatRelease(semaphore):
            return semaphore
    return ""
