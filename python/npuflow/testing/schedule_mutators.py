"""Ways to break a schedule by one step of one engine: a transfer that is off, a stale slot, a kernel left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Buffer, Compute, Each, Receive, Repeat, Schedule, Send, Step
from npuflow.testing.ir_mutators import FaultClass

Change = Callable[[Step, Schedule], "tuple[Step, ...] | None"]


@dataclass(frozen=True)
class StepMutator:
    """Makes another step, or none, of one; `change` returns None where it has nothing to do."""

    fault: FaultClass
    name: str
    change: Change


def _on_access(change: Callable[[Access], Access | None]) -> Change:
    return _on_access_of(lambda access, _buffer: change(access))


def _on_access_of(change: Callable[[Access, Buffer], Access | None]) -> Change:
    """A change of a transfer's access to a buffer."""

    def changed(step: Step, schedule: Schedule) -> tuple[Step, ...] | None:
        if not isinstance(step, (Send, Receive)):
            return None
        access = change(step.access, schedule.buffers[step.access.buffer.name])
        return None if access is None else (replace(step, access=access),)

    return changed


def _shifted(access: Access, buffer: Buffer) -> Access | None:
    """One element further, where all of it stays within the buffer."""
    elements = buffer.slot_bytes // buffer.element_bytes
    reach = sum((size - 1) * stride for size, stride in zip(access.sizes, access.strides, strict=True))
    if access.offset.terms or access.offset.constant + reach + 1 >= elements:
        return None
    return replace(access, offset=Affine(access.offset.constant + 1, ()))


def _still(access: Access) -> Access | None:
    """The same part of the tensor in every turn."""
    return replace(access, offset=Affine(access.offset.constant, ())) if access.offset.terms else None


def _first_slot(access: Access) -> Access | None:
    """The first slot in every turn."""
    return replace(access, slot=Affine(access.slot.constant, ())) if access.slot.terms else None


def _turned(access: Access) -> Access | None:
    """Two dimensions of one size stepped through the other way round."""
    for one in range(len(access.sizes) - 1):
        alike = access.sizes[one] == access.sizes[one + 1] > 1
        if alike and access.strides[one] != access.strides[one + 1]:
            strides = list(access.strides)
            strides[one], strides[one + 1] = strides[one + 1], strides[one]
            return replace(access, strides=tuple(strides))
    return None


def _unlimited(access: Access) -> Access | None:
    """Reaches one element further than it may."""
    if not access.limits or not access.zeros:
        return None
    first, *others = access.limits
    moved = replace(first, bound=Affine(first.bound.constant - 1, first.bound.terms))
    return replace(access, limits=(moved, *others))


def _left_out(step: Step, _schedule: Schedule) -> tuple[Step, ...] | None:
    return () if isinstance(step, Compute) else None


def _exchanged(step: Step, schedule: Schedule) -> tuple[Step, ...] | None:
    """Two operands of a kernel, read from buffers of one shape, in each other's place."""
    if not isinstance(step, Compute):
        return None
    operands = list(step.operands)
    for left in range(len(operands)):
        for right in range(left + 1, len(operands)):
            one, two = (schedule.buffers[operands[i].access.buffer.name] for i in (left, right))
            is_alike = (one.shape, one.element_type) == (two.shape, two.element_type)
            if is_alike and one.name != two.name and operands[left].writes == operands[right].writes:
                operands[left], operands[right] = operands[right], operands[left]
                return (replace(step, operands=tuple(operands)),)
    return None


STEP_MUTATORS = (
    StepMutator(FaultClass.DROPPED, "kernel", _left_out),
    StepMutator(FaultClass.SWAPPED, "kernel's operands", _exchanged),
    StepMutator(FaultClass.SWAPPED, "dimensions of a transfer", _on_access(_turned)),
    StepMutator(FaultClass.SHIFTED, "transfer", _on_access_of(_shifted)),
    StepMutator(FaultClass.STALE, "part of the tensor", _on_access(_still)),
    StepMutator(FaultClass.STALE, "slot", _on_access(_first_slot)),
    StepMutator(FaultClass.MASK, "limit of a transfer", _on_access(_unlimited)),
)


@dataclass(frozen=True)
class ScheduleMutant:
    """A mutator at work on step number `position` of an engine."""

    mutator: StepMutator
    engine: str
    position: int

    @property
    def fault(self) -> FaultClass:
        return self.mutator.fault

    def __str__(self) -> str:
        return f"{self.fault.value} ({self.mutator.name} of {self.engine}, step {self.position})"

    def applied(self, schedule: Schedule) -> Schedule:
        """A broken copy of the schedule that the mutant was found in."""
        engine = schedule.engines[self.engine]
        program, _ = self._changed(engine.program, 0, schedule)
        return replace(schedule, engines={**schedule.engines, self.engine: replace(engine, program=program)})

    def _changed(self, steps: tuple[Step, ...], first: int, schedule: Schedule) -> tuple[tuple[Step, ...], int]:
        """Steps of which the first is number `first`, with the broken one; and the number behind them."""
        made: list[Step] = []
        for step in steps:
            if isinstance(step, (Repeat, Each)):
                body, first = self._changed(step.body, first, schedule)
                made.append(replace(step, body=body))
                continue
            broken = self.mutator.change(step, schedule) if first == self.position else None
            made += (step,) if broken is None else broken
            first += 1
        return tuple(made), first


def schedule_mutants_of(schedule: Schedule) -> list[ScheduleMutant]:
    """Every mutant of a schedule, engine by engine."""
    found = []
    for engine in schedule.engines.values():
        for position, step in enumerate(_plain_steps(engine.program)):
            mutators = [mutator for mutator in STEP_MUTATORS if mutator.change(step, schedule) is not None]
            found += [ScheduleMutant(mutator, engine.name, position) for mutator in mutators]
    return found


def _plain_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, (Repeat, Each)):
            yield from _plain_steps(step.body)
        else:
            yield step
