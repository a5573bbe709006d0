"""Programs whose tensors are at home in a memory tile instead of in DRAM. Pure.

A tensor lies there whole, as it would in DRAM. What a channel of a shim read or wrote of it, one of the home does,
task by task, in the order in which the control processor hands them out; what several shims did goes on side by side,
a transfer of each in turn, as one chain of descriptors.
The control processor sets up as many tasks as before, and waits for them alike:

    acquire shim_out0_room[0]        acquire arg0 home 5 out 2 room
    control 1566                     control 1566
    release shim_out0_task[0]        release arg0 home 5 out 2 task

Between two memory tiles a stream goes through the switches of the shims' row, of all columns on its way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TypeGuard

from npuflow.simulate.channel_tasks import ChannelTask, FlatTransfer, NotTaskByTaskError, tasks_of, transfers, unrolled
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    Cause,
    FlatAcquire,
    FlatControl,
    FlatEngine,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Program,
)
from npuflow.simulate.walk import counted, with_steps
from npuflow.target import Device

HOME_LEVEL = 2


class NotAtHomeError(Exception):
    """A program whose tensor can't be at home; the text says why."""


@dataclass(frozen=True)
class HomePort:
    """A tensor, by the name of its memory, the column of its home, and the channels there that serve it.

    `channels` are numbers, with how many descriptors each may use: of tasks that wait, each takes some.
    """

    tensor: str
    column: int
    channels: tuple[tuple[int, int], ...]

    def number_for(self, user: int) -> int:
        """The channel that does what one of the shims' did: they take turns."""
        return self.channels[user % len(self.channels)][0]


def at_home(program: Program, device: Device, ports: Sequence[HomePort]) -> Program:
    """The program with tensors at home; raises NotAtHomeError where one can't be."""
    moved = program
    try:
        for port in ports:
            moved = _Move(moved, device, port).moved()
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error
    return moved


def free_channels(program: Program, device: Device, side: Side, column: int) -> tuple[int, ...]:
    """The channels beside a memory tile that a program leaves alone."""
    dma, platform = device.dma(HOME_LEVEL), Platform(device)
    taken = {engine.name for engine in program.engines}
    count = dma.channels_in if side is Side.IN else dma.channels_out
    names = {number: platform.channel_name(HOME_LEVEL, side, (0, column), number) for number in range(count)}
    return tuple(number for number, name in names.items() if name not in taken)


def users_of(program: Program, tensor: str) -> list[FlatEngine]:
    """The engines beside DRAM that move a tensor."""
    return [engine for engine in program.engines if any(t.access.buffer == tensor for t in transfers(engine.body))]


@dataclass
class _Move:
    """One tensor's way home."""

    program: Program
    device: Device
    port: HomePort
    tasks: dict[str, list[ChannelTask]] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, list[FlatStep]] = field(default_factory=lambda: defaultdict(list))
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    turns: dict[str, dict[str, list[FlatTransfer]]] = field(default_factory=dict)
    side: Side = Side.OUT

    def moved(self) -> Program:
        users = users_of(self.program, self.port.tensor)
        if not users:
            return self.program
        is_sent = {isinstance(t, FlatSend) for e in users for t in transfers(e.body) if self._is_own(t)}
        if len(is_sent) > 1:
            raise NotAtHomeError("it is read and written in the same phase")
        self.side = Side.OUT if is_sent.pop() else Side.IN
        self.tasks = {engine.name: list(tasks_of(engine)) for engine in users}
        platform, tile = Platform(self.device), (0, self.port.column)
        for number, engine in enumerate(users):
            channel = platform.channel_name(HOME_LEVEL, self.side, tile, self.port.number_for(number))
            self.homes[engine.name] = channel
        self.depths = self._depths(platform)
        control = self._control()
        streams = self._streams()
        engines = [self._engine(engine, control) for engine in self.program.engines]
        used = {name: number for name, (number, _) in zip(self.homes.values(), self.port.channels)}
        channels = [
            platform.channel(HOME_LEVEL, self.side, tile, number, tuple(self.bodies[name]))
            for name, number in used.items()
        ]
        semaphores = [
            FlatSemaphore(self._name(name, what), initial, depth, Cause.TASK)
            for name, depth in self.depths.items()
            for what, initial in (("task", 0), ("room", depth))
        ]
        memories = [
            replace(one, level=HOME_LEVEL) if one.name == self.port.tensor else one for one in self.program.memories
        ]
        whole = replace(
            self.program,
            engines=(*(engine for engine in engines if engine.body), *channels),
            semaphores=(*self.program.semaphores, *semaphores),
            streams=tuple(streams),
            memories=tuple(memories),
        )
        return with_steps(whole, self._renamed)

    def _depths(self, platform: Platform) -> dict[str, int]:
        """How many tasks may wait at each channel of the home: as at the shims', if it has descriptors for so many."""
        rooms = {one.name: one.initial for one in self.program.semaphores}
        waiting: dict[str, int] = defaultdict(int)
        for user, home in self.homes.items():
            waiting[home] += rooms[self.tasks[user][0].gives.semaphore]
        each = max(1, platform.cycles(self.device.control.descriptor_seconds))
        (body,) = [engine.body for engine in self.program.engines if engine.kind == "control"]
        most = max(-(-step.cycles // each) for step, _ in counted(body) if _sets_up(step))
        free = dict(zip(self.homes.values(), (descriptors for _, descriptors in self.port.channels)))
        depths = {home: min(count, free[home] // most) for home, count in waiting.items()}
        if min(depths.values()) < 1:
            raise NotAtHomeError("its home has no descriptors free")
        return depths

    def _is_own(self, transfer: FlatTransfer) -> bool:
        return transfer.access.buffer == self.port.tensor

    def _name(self, channel: str, what: str) -> str:
        return f"{self.port.tensor} {channel} {what}"

    # Tasks

    def _control(self) -> tuple[FlatStep, ...]:
        """The control processor's steps; hands tasks out to homes on the way, and waits for what they write."""
        (body,) = [engine.body for engine in self.program.engines if engine.kind == "control"]
        steps = list(unrolled(body))
        by_task = {task.waits.semaphore: name for name, tasks in self.tasks.items() for task in tasks}
        rooms = {task.gives.semaphore for tasks in self.tasks.values() for task in tasks}
        number: dict[str, int] = defaultdict(int)
        found: list[FlatStep] = []
        position, waits = 0, False
        while position < len(steps):
            three, first = steps[position : position + 3], steps[position]
            user = by_task.get(_handed_to(three))
            if user is None:
                is_wait = isinstance(first, FlatAcquire) and first.semaphore in rooms
                if is_wait and not waits and self.side is Side.IN:
                    found += self._wait()
                waits = is_wait
                found.append(first)
                position += 1
                continue
            task = self.tasks[user][number[user]]
            number[user] += 1
            found += self._handed_out(user, task, three)
            position, waits = position + 3, False
        if any(number[name] != len(tasks) for name, tasks in self.tasks.items()):
            raise NotAtHomeError("its tasks are handed out in another way than one by one")
        return tuple(found)

    def _handed_out(self, user: str, task: ChannelTask, steps: Sequence[FlatStep]) -> list[FlatStep]:
        own = [self._is_own(transfer) for transfer in task.transfers]
        if not any(own):
            self.bodies[user] += task.steps
            return list(steps)
        if not all(own):
            raise NotAtHomeError("it is moved in one task with another tensor")
        home = self.homes[user]
        room, wanted = self._name(home, "room"), self._name(home, "task")
        moved = [replace(one, access=replace(one.access, run_overhead_bytes=0.0)) for one in task.transfers]
        turn = self.turns.setdefault(home, {})
        turn[user] = moved
        if len(turn) == (self._sharing(home) if self._is_even(home) else 1):
            # One chain of descriptors for all that share the channel, which go on side by side.
            chained = [one for several in zip_longest(*turn.values()) for one in several if one is not None]
            self.bodies[home] += [FlatAcquire(wanted, len(turn)), *chained, FlatRelease(room, len(turn))]
            turn.clear()
        return [FlatAcquire(room), steps[1], FlatRelease(wanted)]

    def _sharing(self, home: str) -> int:
        return sum(own == home for own in self.homes.values())

    def _is_even(self, home: str) -> bool:
        """Whether all that share a channel have as many tasks for it, and as many may wait at a time."""
        own = [self.tasks[user] for user, at in self.homes.items() if at == home]
        counts = {sum(self._is_own(task.transfers[0]) for task in tasks) for tasks in own}
        return len(counts) == 1 and self.depths[home] >= len(own)

    def _wait(self) -> list[FlatStep]:
        """Until everything that was handed out to homes is written: all of their room is free."""
        rooms = {self._name(home, "room"): depth for home, depth in self.depths.items()}
        taken: list[FlatStep] = [FlatAcquire(room, depth) for room, depth in rooms.items()]
        return [*taken, *(FlatRelease(room, depth) for room, depth in rooms.items())]

    def _engine(self, engine: FlatEngine, control: tuple[FlatStep, ...]) -> FlatEngine:
        if engine.kind == "control":
            return replace(engine, body=control)
        return replace(engine, body=tuple(self.bodies[engine.name])) if engine.name in self.tasks else engine

    # Streams

    def _streams(self) -> list[FlatStream]:
        """The streams, with those of moved transfers from or to homes; fills in which transfers take another one."""
        found: list[FlatStream] = []
        for stream in self.program.streams:
            user = stream.sender if self.side is Side.OUT else stream.receivers[0]
            moves = [t for task in self.tasks.get(user, ()) for t in task.transfers if t.stream == stream.name]
            own = [self._is_own(transfer) for transfer in moves]
            if not any(own):
                found.append(stream)
                continue
            if self.side is Side.IN and len(stream.receivers) > 1:
                raise NotAtHomeError("it is written by several channels at once")
            name = stream.name if all(own) else f"{stream.name} of {self.port.tensor}"
            found += [] if all(own) else [stream]
            found.append(self._stream(stream, name, self.homes[user]))
            if not all(own):
                self._rename(stream, moves, own)
        return found

    def _stream(self, stream: FlatStream, name: str, home: str) -> FlatStream:
        tiles = {engine.name: engine.tile for engine in self.program.engines}
        others = stream.receivers if self.side is Side.OUT else (stream.sender,)
        columns = [tile[1] for tile in map(tiles.__getitem__, others) if tile is not None] + [self.port.column]
        way = range(min(columns), max(columns) + 1)
        platform, outer = Platform(self.device), self.device.dram_level
        links = dict.fromkeys(platform.link(outer, HOME_LEVEL, (0, column)) for column in way)
        latency = self.device.link(outer, HOME_LEVEL).latency_cycles * (len(way) + 1)
        ends = {"sender": home} if self.side is Side.OUT else {"receivers": (home,)}
        return replace(stream, name=name, links=tuple(links), latency_cycles=latency, **ends)

    def _rename(self, stream: FlatStream, moves: Sequence[FlatTransfer], own: Sequence[bool]) -> None:
        """Has the other ends of moved transfers use the stream from or to the home, by the buffers that they touch."""
        name = f"{stream.name} of {self.port.tensor}"
        bodies = {engine.name: engine.body for engine in self.program.engines}
        for end in stream.receivers if self.side is Side.OUT else (stream.sender,):
            ends = [t for t in unrolled(bodies[end]) if isinstance(t, FlatSend | FlatReceive)]
            ends = [t for t in ends if t.stream == stream.name]
            kinds: dict[str, set[bool]] = defaultdict(set)
            for other, is_own in zip(ends, own):
                kinds[other.access.buffer].add(is_own)
            if len(ends) != len(own) or any(len(kind) > 1 for kind in kinds.values()):
                raise NotAtHomeError("it shares a buffer with another tensor")
            self.renamed |= {(stream.name, buffer): name for buffer, kind in kinds.items() if kind == {True}}
        self.renamed |= {(stream.name, self.port.tensor): name}

    def _renamed(self, step: FlatStep) -> FlatStep:
        if not isinstance(step, FlatSend | FlatReceive):
            return step
        name = self.renamed.get((step.stream, step.access.buffer))
        return step if name is None else replace(step, stream=name)


def _handed_to(steps: Sequence[FlatStep]) -> str:
    """The semaphore by which a task is handed out, where steps take room in a queue, set it up and do that."""
    match steps:
        case FlatAcquire(), FlatControl(), FlatRelease(semaphore):
            return semaphore
    return ""


def _sets_up(step: FlatStep) -> TypeGuard[FlatControl]:
    return isinstance(step, FlatControl) and step.name == "descriptor"
