"""The tasks that phases begin with, set up in the waits of the control processor in the phase before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.network.phases import Writes
from npuflow.network.set_up import NO_TASKS, PhaseChange, SetUp, TaskWrites, Waiting
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.results import RunResults
from npuflow.simulate.tasks_ahead import TasksAhead, descriptors_left, set_ahead
from npuflow.target import Device, SharedBy

# The kind of the processor that hands out tasks, in programs.
CONTROL = "control"


def waiting_in(results: RunResults, function: CompiledFunction) -> Waiting:
    """What a function's control processor has nothing to do in a run, and what its shims leave alone."""
    return replace(waiting_while(results, function.device), descriptors=function.descriptors_left)


def waiting_while(results: RunResults, device: Device) -> Waiting:
    """The same of any program."""
    idle = (results.cycles - engine.busy_cycles for engine in results.engines if engine.kind == CONTROL)
    columns = _with_channels_left(results, device)
    seconds = next(idle, 0) / results.program.clock_hz
    return Waiting(seconds, columns, descriptors=descriptors_left(results.program, device))


def _with_channels_left(results: RunResults, device: Device) -> frozenset[int]:
    """The columns whose shims send through fewer channels than they have."""
    level, platform = device.dram_level, Platform(device)
    if device.dma(level).shared_by is not SharedBy.COLUMN:
        return frozenset()
    columns = range(device.columns)
    return frozenset(c for c in columns if platform.free_channels(results.program, level, Side.OUT, c))


@dataclass(frozen=True)
class BegunPhases:
    """The parts that begin with tasks that are set up, by name, and what of that is written in front of each call."""

    parts: Mapping[str, CompiledFunction]
    writes: Sequence[TaskWrites]


def tasks_ahead(calls: Sequence[CompiledFunction], changes: Sequence[PhaseChange]) -> BegunPhases:
    """The parts with tasks set up, where `changes` are in front of all calls but the first.

    No phase takes longer for it together with the change in front of it. Tasks get what other writes leave of the waits
    of the phase before, and of the one before that; or they come first, where that is faster.
    """
    phases = _Phases(calls, changes)
    for name in dict.fromkeys(call.name for call in calls[1:]):
        phases.set_ahead(name)
    return BegunPhases(phases.found, [phases.written.get(number, NO_TASKS) for number in range(1, len(calls))])


def _in_all(waits: Sequence[Waiting]) -> Waiting:
    """What all of them have."""
    columns, reached = (frozenset.intersection(*own) for own in zip(*((one.columns, one.reached) for one in waits)))
    free = {place: min(one.descriptors.get(place, 0) for one in waits) for place in waits[0].descriptors}
    return Waiting(min(one.seconds for one in waits), columns, reached, free)


@dataclass
class _Phases:
    """A part that is called again begins with what all of its calls find set up: with nothing if it is the first.

    `written` are the tasks that are written in the phase before a call, by its number.
    """

    calls: Sequence[CompiledFunction]
    changes: Sequence[PhaseChange]
    found: dict[str, CompiledFunction] = field(default_factory=dict)
    waits: dict[str, Waiting] = field(default_factory=dict)
    written: dict[int, TaskWrites] = field(default_factory=dict)

    def set_ahead(self, name: str) -> None:
        numbers = [number for number, call in enumerate(self.calls) if call.name == name]
        part = self.calls[numbers[0]]
        if numbers[0] == 0 or not part.device.control.descriptor_seconds:
            return
        ready = [(tasks, near) for tasks, near in self._ways(numbers, part) if self._has_room(numbers, tasks)]
        if not ready:
            return
        begun = [part.begun(tasks) for tasks, _ in ready]
        costs = [self._seconds(numbers, one, tasks.writes) for one, (tasks, _) in zip(begun, ready)]
        least, now = min(costs), self._seconds(numbers, part, NO_TASKS)
        best, near = ready[costs.index(least)]
        if least < now or (least == now and _saves_control(best, part.device)):
            self.found[part.name] = begun[costs.index(least)]
            self._take(numbers, best, near)

    def _ways(self, numbers: Sequence[int], part: CompiledFunction) -> Iterator[tuple[TasksAhead, float]]:
        """A part with tasks set up, and how much of that can be in the phase before.

        They take what else leaves of its waits, and of those of the phase before that; or they come first, and what
        else comes ahead takes what they leave.
        """
        near = _in_all([self._left(number) for number in numbers])
        waits = [(near, near, False)]
        if numbers[0] > 1:
            sooner = _in_all([self._left(number - 1) for number in numbers])
            waits.append((replace(_in_all([near, sooner]), seconds=near.seconds + sooner.seconds), near, False))
        if not any(number in self.written for number in numbers):
            whole = _in_all([self._waits(number) for number in numbers])
            waits.append((whole, whole, True))
        known = set[tuple[str, ...]]()
        for way, own, first in waits:
            tasks = set_ahead(part.program, part.device, way)
            if tasks.tasks and not (first and tasks.tasks in known):
                known.add(tasks.tasks)
                yield replace(tasks, writes=replace(tasks.writes, first=first)), own.seconds

    def _seconds(self, numbers: Sequence[int], part: CompiledFunction, tasks: TaskWrites) -> float:
        """How long calls of a part and the changes in front of them take; only tasks that come first delay these."""
        first = tasks if tasks.first else NO_TASKS
        changes = sum(self._set_up(number, first).seconds for number in numbers)
        return len(numbers) * part.run.cycles / part.program.clock_hz + changes

    def _has_room(self, numbers: Sequence[int], tasks: TasksAhead) -> bool:
        """Whether a part with tasks set up leaves the descriptors that those of later phases take while it works."""
        for number in numbers:
            later = self.written.get(number + 1, NO_TASKS).held
            own = sum(number + distance in numbers for distance in (1, 2))
            if any(left < later.get(at, 0) + own * tasks.writes.held.get(at, 0) for at, left in tasks.left.items()):
                return False
        return True

    def _take(self, numbers: Sequence[int], tasks: TasksAhead, near_seconds: float) -> None:
        """Notes in which phases tasks are written: as late as can be."""
        writes = tasks.writes
        self.waits.pop(self.calls[numbers[0]].name, None)
        late = min(near_seconds, writes.seconds)
        for number in numbers:
            self._write(number, replace(writes, seconds=late))
            if late < writes.seconds:
                self._write(number - 1, replace(writes, descriptors=0, seconds=writes.seconds - late))

    def _write(self, number: int, writes: TaskWrites) -> None:
        self.written[number] = self.written.get(number, NO_TASKS) + writes

    def _left(self, number: int) -> Waiting:
        """What is left of the waits of the phase before a call, once all else is set up."""
        return self._set_up(number).left

    def _set_up(self, number: int, more: TaskWrites = NO_TASKS) -> SetUp:
        """The change in front of a call, with what is written of tasks so far, and more."""
        change = replace(self.changes[number - 1], tasks=self.written.get(number, NO_TASKS) + more)
        return change.set_up(self.calls[0].device.control, self._waits(number))

    def _waits(self, number: int) -> Waiting:
        """The waits of the phase before a call."""
        before = self.calls[number - 1]
        if before.name not in self.waits:
            ready = self.found.get(before.name, before)
            self.waits[before.name] = waiting_in(ready.run, ready)
        return self.waits[before.name]


def _saves_control(tasks: TasksAhead, device: Device) -> bool:
    """Whether the control processor has more time in all if tasks are set up ahead: as packets they take less."""
    return tasks.writes.seconds < Writes(len(tasks.tasks)).seconds(device.control) / 2
