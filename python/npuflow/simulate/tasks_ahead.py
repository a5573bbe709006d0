"""Programs whose first tasks are set up before they begin: the control processor only starts these. Pure.

    acquire shim_out0_room[0]        acquire shim_out0_room[0]
    control 1566                     control 162
    release shim_out0_task[0]        release shim_out0_task[0]

Descriptors beside DRAM hold the tasks until they are done. A channel takes as many of these as tasks that wait in its
queue need, or as those need that are set up before, whichever is more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from npuflow.core.once_of_object import once_of_object
from npuflow.network.phases import Writes
from npuflow.network.set_up import NO_TASKS, TaskWrites, Waiting
from npuflow.simulate.platform import Platform
from npuflow.simulate.program import FlatAcquire, FlatControl, FlatEngine, FlatLoop, FlatRelease, FlatStep, Program
from npuflow.simulate.walk import counted
from npuflow.target import Device, SharedBy

# Where a DMA engine beside DRAM is: its column, where each has one.
_Place = int


@dataclass(frozen=True)
class TasksAhead:
    """A program with the semaphores of those of its first tasks that are set up when it begins, in order.

    `writes` is what that takes; `left` are the descriptors beside DRAM that the program then doesn't need, by column.
    """

    program: Program
    tasks: tuple[str, ...]
    writes: TaskWrites
    left: Mapping[int, int]


def descriptors_left(program: Program, device: Device) -> dict[_Place, int]:
    """The descriptors beside DRAM that a program doesn't need, by column."""
    return _Hands(program, device).left({})


def set_ahead(program: Program, device: Device, before: Waiting) -> TasksAhead:
    """The first tasks as starts, as far as the phase before leaves descriptors for them, and time to set them up."""
    hands = _Hands(program, device)
    found = _SettingAhead(hands, before)
    body = found.body() if hands.control is not None and hands.each_cycles > hands.start_cycles else ()
    if not found.tasks:
        return TasksAhead(program, (), NO_TASKS, hands.left({}))
    engines = (replace(one, body=body) if one is hands.control else one for one in program.engines)
    ready = replace(program, engines=tuple(engines))
    writes = TaskWrites(sum(found.held.values()), found.seconds, found.written)
    return TasksAhead(ready, tuple(found.tasks), writes, hands.left(found.held))


@dataclass(frozen=True)
class _Hands:
    """How a control processor hands out tasks."""

    program: Program
    device: Device

    @cached_property
    def control(self) -> FlatEngine | None:
        return next((engine for engine in self.program.engines if engine.kind == "control"), None)

    @property
    def by_column(self) -> bool:
        return self.device.dma(self.device.dram_level).shared_by is SharedBy.COLUMN

    @cached_property
    def each_cycles(self) -> int:
        return Platform(self.device).cycles(self.device.control.descriptor_seconds)

    @cached_property
    def start_cycles(self) -> int:
        return Platform(self.device).cycles(self.device.control.start_seconds)

    @cached_property
    def places(self) -> Mapping[str, _Place]:
        """By the semaphore of its tasks, where a channel beside DRAM is."""
        name = self.device.dma(self.device.dram_level).name
        channels = [engine for engine in self.program.engines if engine.kind in (f"{name} in", f"{name} out")]
        return {
            semaphore: engine.tile[1] if engine.tile is not None and self.by_column else 0
            for engine in channels
            for semaphore in engine.acquired
        }

    @cached_property
    def needed(self) -> Mapping[_Place, Mapping[str, int]]:
        """The descriptors that each place's channels need, with as many tasks in their queues as have room there."""
        known = _needed_by(self.program)
        if self.device not in known:
            known[self.device] = self._needed()
        return known[self.device]

    def _needed(self) -> Mapping[_Place, Mapping[str, int]]:
        tasks, size, cycles = Counter[str](), dict[str, int](), 0
        for step, times in counted(self.control.body if self.control is not None else ()):
            if isinstance(step, FlatControl):
                cycles = step.cycles
            elif isinstance(step, FlatRelease) and step.semaphore in self.places:
                tasks[step.semaphore] += times
                size[step.semaphore] = max(size.get(step.semaphore, 0), self.descriptors(cycles))
        found: dict[_Place, dict[str, int]] = {place: {} for place in self.places.values()}
        for one in self.program.semaphores:
            if one.name in tasks:
                found[self.places[one.name]][one.name] = min(tasks[one.name], one.maximum) * size[one.name]
        return found

    def left(self, held: Mapping[str, int]) -> dict[_Place, int]:
        """The descriptors that are left in each place where channels hold so many for tasks that are set up before."""
        have = self.device.dma(self.device.dram_level).descriptors
        places = range(self.device.columns if self.by_column else 1)
        needed = {place: self.needed.get(place, {}).items() for place in places}
        return {place: have - sum(max(n, held.get(one, 0)) for one, n in own) for place, own in needed.items()}

    def descriptors(self, cycles: int) -> int:
        """How many it sets up in so many cycles."""
        return round(cycles / self.each_cycles) if self.each_cycles else 0


@once_of_object
def _needed_by(_: Program) -> dict[Device, Mapping[_Place, Mapping[str, int]]]:
    """What a program's channels need on devices: it is asked for behind one phase and another."""
    return {}


@dataclass
class _SettingAhead:
    """The steps of a control processor one by one, until it waits for something else than room in a queue."""

    hands: _Hands
    before: Waiting
    seconds: float = 0.0
    tasks: list[str] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)
    written: dict[_Place, int] = field(default_factory=dict)
    written_in: dict[tuple[_Place, int], tuple[float, float]] = field(default_factory=dict)

    def body(self) -> tuple[FlatStep, ...]:
        assert self.hands.control is not None, "tasks are handed out by somebody"
        rest, done = deque(self.hands.control.body), list[FlatStep]()
        while rest and any(free > self.written.get(place, 0) for place, free in self.before.descriptors.items()):
            match rest.popleft():
                case FlatLoop(count, body) as loop:
                    again = (replace(loop, count=count - 1),) if count > 1 else ()
                    rest.extendleft(reversed((*body, *again) if count else ()))
                case FlatAcquire() as room if len(rest) > 1:
                    three = room, rest.popleft(), rest.popleft()
                    handed = self._handed(three)
                    done += handed or three
                    if handed is None:
                        break
                case step:
                    done.append(step)
        return (*done, *rest)

    def _handed(self, steps: tuple[FlatStep, ...]) -> tuple[FlatStep, ...] | None:
        """The steps of a task that is handed out, set up before if there is room; None for other steps, or no time."""
        match steps:
            case FlatAcquire() as room, FlatControl(cycles) as sets_up, FlatRelease(task) as hands:
                place, size = self.hands.places.get(task), self.hands.descriptors(cycles)
            case _:
                return None
        if place is None:
            return None
        count = self.written.get(place, 0)
        more = self._seconds(place, count + size) - self._seconds(place, count)
        if self.seconds + more > self.before.seconds:
            return None
        if not self._fits(place, task, size):
            return steps
        self.seconds += more
        self.written[place] = count + size
        self.held[task] = self.held.get(task, 0) + size
        self.tasks.append(task)
        return room, replace(sets_up, cycles=self.hands.start_cycles, name="start"), hands

    def _seconds(self, place: _Place, count: int) -> float:
        """What it takes to write so many descriptors of a place: one by one, or as packets."""
        return min(self._ways_to_write(place, count)) if count else 0.0

    def _ways_to_write(self, place: _Place, count: int) -> tuple[float, float]:
        """What it takes one by one, and as packets: found once for a task, its room and the one before."""
        known = self.written_in.get((place, count))
        if known is None:
            known = Writes(count).seconds(self.hands.device.control), self._packet_seconds(place, count)
            self.written_in[place, count] = known
        return known

    def _packet_seconds(self, place: _Place, count: int) -> float:
        """The same as a stream of packets, where a channel of the place is left for that."""
        control = self.hands.device.control
        if place not in self.before.columns or not control.packet_seconds:
            return inf
        begins = 0.0 if place in self.before.reached else control.packet_seconds
        return begins + Writes(count).bytes / control.packet_bytes_per_second

    def _fits(self, place: _Place, task: str, size: int) -> bool:
        """Whether descriptors are left for a task, beside the phase before and beside what its own phase needs.

        While the phase before works, the task that brings packets takes one.
        """
        count = self.written.get(place, 0) + size
        one_by_one, as_packets = self._ways_to_write(place, count)
        packets = int(as_packets < one_by_one)
        needed, held = self.hands.needed[place], self.held.get(task, 0) + size
        need = sum(max(own, held if one == task else self.held.get(one, 0)) for one, own in needed.items())
        have = self.hands.device.dma(self.hands.device.dram_level).descriptors
        return count + packets <= self.before.descriptors.get(place, 0) and need <= have
