"""The tasks that phases begin with, set up in the waits of the control processor in the phase before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.compiler.compiled_function import CompiledFunction, simulate_function
from npuflow.network.set_up import PhaseChange, Waiting
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import cycles_of_run
from npuflow.simulate.tasks_ahead import TasksAhead, set_ahead
from npuflow.target import Device, SharedBy

# The kind of the processor that hands out tasks, in programs.
CONTROL = "control"


def waiting_in(results: RunResults, function: CompiledFunction) -> Waiting:
    """What a function's control processor has nothing to do in a run, and what its shims leave alone."""
    idle = (results.cycles - engine.busy_cycles for engine in results.engines if engine.kind == CONTROL)
    columns = _with_channels_left(results, function.device)
    return Waiting(next(idle, 0) / results.program.clock_hz, columns, function.descriptors_left)


def _with_channels_left(results: RunResults, device: Device) -> frozenset[int]:
    """The columns whose shims send through fewer channels than they have."""
    level, platform = device.dram_level, Platform(device)
    if device.dma(level).shared_by is not SharedBy.COLUMN:
        return frozenset()
    columns = range(device.columns)
    return frozenset(c for c in columns if platform.free_channels(results.program, level, Side.OUT, c))


def tasks_ahead(calls: Sequence[CompiledFunction], changes: Sequence[PhaseChange]) -> Mapping[str, TasksAhead]:
    """The parts that begin with tasks that are set up, by name; `changes` are in front of all calls but the first.

    None takes longer for it. What is written between phases comes first; tasks get what that leaves of the waits.
    """
    phases = _Phases(calls, changes)
    for name in dict.fromkeys(call.name for call in calls[1:]):
        phases.set_ahead(name)
    return phases.found


@dataclass
class _Phases:
    """A part that is called again begins with what all of its calls find set up: with nothing if it is the first."""

    calls: Sequence[CompiledFunction]
    changes: Sequence[PhaseChange]
    found: dict[str, TasksAhead] = field(default_factory=dict)
    waits: dict[str, Waiting] = field(default_factory=dict)

    def set_ahead(self, name: str) -> None:
        numbers = [number for number, call in enumerate(self.calls) if call.name == name]
        part = self.calls[numbers[0]]
        if numbers[0] == 0 or not part.device.control.descriptor_seconds:
            return
        left = [self._left(number) for number in numbers]
        free = {place: min(one.descriptors.get(place, 0) for one in left) for place in left[0].descriptors}
        tasks = set_ahead(part.program, part.device, free, min(one.seconds for one in left))
        if not tasks.tasks:
            return
        ready = part.begun(tasks)
        results = simulate_function(ready)
        if results.cycles <= cycles_of_run(part.program):
            self.found[name], self.waits[name] = tasks, waiting_in(results, ready)

    def _left(self, number: int) -> Waiting:
        """What is left of the waits of the phase before a call, once all else is set up."""
        before = self.calls[number - 1]
        if before.name not in self.waits:
            self.waits[before.name] = waiting_in(simulate_function(before), before)
        return self.changes[number - 1].set_up(before.device.control, self.waits[before.name]).left
