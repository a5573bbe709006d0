"""How many DMA descriptors a schedule's transfers take, per channel. Pure.

- A channel beside L1 or L2 goes through a list of descriptors that is written once: every transfer of its program needs
  one for each slot that it addresses, or of more than two an iteration, and one for each place that it goes through one
  after the other.
- Loops around a transfer that move its place in a slot become dimensions of its pattern, or the descriptor's iteration;
  where neither is left, each turn has descriptors of its own (`patterns.fit`).
- A pattern that is cut off at an edge in some turns of a loop is several patterns: one for each way to be cut (`cuts`).
- A shim's descriptors are set up by the control processor, task by task: a channel needs as many as a task takes, times
  the tasks that wait in its queue. Loops outside of a task cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.schedule.data import model
from npuflow.schedule.data.cuts import cut_patterns
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import PlacedStep
from npuflow.target import Device
from npuflow.target.patterns import Fit, fit

Transfer = model.Send | model.Receive

# So many slots have a descriptor each, as designs have it; more may be gone through by an iteration.
_FEW_SLOTS = 2


@dataclass(frozen=True)
class Use:
    """What one transfer of a channel's program takes."""

    transfer: Transfer
    descriptors: int
    is_sub_granule: bool


def channel_uses(engine: model.Engine, schedule: Schedule, device: Device) -> list[Use]:
    """The descriptors of one engine of this kind, per transfer; none for cores and the control processor."""
    level = engine.stage.level if engine.stage.is_channel else None
    own = {name: schedule.extents[name] for name in engine.span}
    return _Counter(schedule, device, level, own).uses(engine) if level is not None else []


def descriptors_set_up(schedule: Schedule) -> int:
    """The descriptors that the control processor sets up in all, one after the other."""
    return sum(_set_up(engine.program) for engine in schedule.engines.values())


def _set_up(steps: tuple[model.Step, ...]) -> int:
    found = 0
    for step in steps:
        match step:
            case model.Configure(descriptors):
                found += descriptors
            case model.Repeat(trips=times, body=body) | model.Each(count=times, body=body):
                found += times * _set_up(body)
    return found


@dataclass
class _Counter:
    schedule: Schedule
    device: Device
    level: int
    own: dict[str, int]

    def uses(self, engine: model.Engine) -> list[Use]:
        found: list[Use] = []
        self._collect(engine.program, PlacedStep(model.Configure(0), {}, {}), 1, found)
        return found

    def _collect(self, steps: tuple[model.Step, ...], around: PlacedStep, queued: int, found: list[Use]) -> None:
        """`around` has the loops that a descriptor must cover; `queued` tasks of this kind wait at a time."""
        task = self._task(steps)
        if task is not None:
            around, queued = PlacedStep(around.step, {}, around.coordinates), max(1, task.maximum)
        for step in steps:
            if isinstance(step, model.Repeat):
                inner = PlacedStep(step, {**around.counters, step.counter: step.trips}, around.coordinates)
                self._collect(step.body, inner, queued, found)
            elif isinstance(step, model.Each):
                inner = PlacedStep(step, around.counters, {**around.coordinates, step.coordinate: step.count})
                self._collect(step.body, inner, queued, found)
            elif isinstance(step, (model.Send, model.Receive)):
                found.append(self._use(step, around, queued))

    def _task(self, steps: tuple[model.Step, ...]) -> model.Semaphore | None:
        """The semaphore of a task that begins among these steps."""
        waits = [step for step in steps if isinstance(step, model.Acquire)]
        semaphores = [self.schedule.semaphores[step.semaphore.name] for step in waits]
        return next((s for s in semaphores if s.cause == "task"), None)

    def _use(self, step: Transfer, around: PlacedStep, queued: int) -> Use:
        access = step.access
        buffer = self.schedule.buffers[access.buffer.name]
        moved = [(trips, access.offset.coefficient(name)) for name, trips in around.counters.items()]
        pattern = self.device.dma(self.level).pattern
        one = self._fit([(t, s) for t, s in moved if s], access, buffer.element_bytes)
        alone = fit(tuple(zip(access.sizes, access.strides)), buffer.element_bytes, pattern)
        patterns = cut_patterns(access, around.counters, around.coordinates, self.own)
        slots = self._slots(access, buffer, around)
        each = one.descriptors * slots
        if slots > _FEW_SLOTS:
            ring = (slots, buffer.slot_bytes // buffer.element_bytes)
            each = min(
                each, self._fit([ring, *((t, s) for t, s in moved if s)], access, buffer.element_bytes).descriptors
            )
        count = each * patterns * queued
        return Use(step, count, one.is_sub_granule or alone.is_sub_granule)

    def _fit(self, loops: list[tuple[int, int]], access: model.Access, element_bytes: int) -> Fit:
        """Loops outermost, backward steps as forward ones."""
        dims = [*((trips, abs(stride)) for trips, stride in loops), *zip(access.sizes, access.strides)]
        return fit(dims, element_bytes, self.device.dma(self.level).pattern)

    def _slots(self, access: model.Access, buffer: model.Buffer, around: PlacedStep) -> int:
        """A slot's number is counted modulo the depth; where a loop moves it, all slots are in use."""
        ranges = {**around.ranges, **dict.fromkeys(self.own, 1)}
        moves = any(c % buffer.depth for name, c in access.slot.terms if ranges.get(name, 2) > 1)
        return buffer.depth if moves else 1
