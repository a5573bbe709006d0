"""What a channel beside DRAM does, task by task, each written out with the counters of its loops in place. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import mul

from npuflow.core.once_of_object import once_of_object
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatCompute,
    FlatEngine,
    FlatLimit,
    FlatLoop,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
)
from npuflow.simulate.walk import counted

# Each is written out: some 0.15 s for so many.
_MOST_STEPS = 20_000

FlatTransfer = FlatSend | FlatReceive


class NotTaskByTaskError(Exception):
    """Steps that can't be told apart as tasks; the text says why."""


@dataclass(frozen=True)
class ChannelTask:
    """What a channel does between taking a task and giving its room back."""

    waits: FlatAcquire
    transfers: tuple[FlatTransfer, ...]
    gives: FlatRelease

    @property
    def steps(self) -> tuple[FlatStep, ...]:
        return self.waits, *self.transfers, self.gives


def transfers(body: tuple[FlatStep, ...]) -> Iterator[FlatTransfer]:
    yield from (step for step, _ in counted(body) if isinstance(step, FlatTransfer))


@once_of_object
def tasks_of(engine: FlatEngine) -> tuple[ChannelTask, ...]:
    """What a channel beside DRAM does, task by task."""
    return tuple(_tasks(steps_of(engine)))


def _tasks(steps: Iterable[FlatStep]) -> Iterator[ChannelTask]:
    waits: FlatAcquire | None = None
    moves: list[FlatTransfer] = []
    for step in steps:
        if isinstance(step, FlatAcquire) and waits is None:
            waits, moves = step, []
        elif isinstance(step, FlatTransfer) and waits is not None:
            moves.append(step)
        elif isinstance(step, FlatRelease) and waits is not None:
            yield ChannelTask(waits, tuple(moves), step)
            waits = None
        else:
            raise NotTaskByTaskError("its channel works in another way than task by task")


@once_of_object
def steps_of(engine: FlatEngine) -> tuple[FlatStep, ...]:
    """Every step of an engine as often as it is done: one is asked for each way in which a tensor may be moved."""
    return tuple(unrolled(engine.body))


def unrolled(body: tuple[FlatStep, ...]) -> Iterator[FlatStep]:
    """Every step as often as it is done, with the counters of the loops around it in place."""
    if sum(times for _, times in counted(body)) > _MOST_STEPS:
        raise NotTaskByTaskError(f"it takes more than {_MOST_STEPS} steps, each of which would be written out")
    yield from _turns(body, ())


def _turns(body: tuple[FlatStep, ...], counters: tuple[int, ...]) -> list[FlatStep]:
    found: list[FlatStep] = []
    for step in body:
        if isinstance(step, FlatLoop):
            for turn in range(step.count):
                found += _turns(step.body, (*counters, turn))
        elif counters and isinstance(step, FlatTransfer):
            found.append(type(step)(step.stream, _placed(step.access, counters), step.name))
        elif counters and isinstance(step, FlatCompute):
            operands = (replace(one, access=_placed(one.access, counters)) for one in step.operands)
            found.append(replace(step, operands=tuple(operands)))
        else:
            found.append(step)
    return found


def _placed(access: FlatAccess, counters: tuple[int, ...]) -> FlatAccess:
    limits = tuple([FlatLimit(limit.coefficients, _at(limit.bound, counters)) for limit in access.limits])
    offset, slot = _at(access.offset, counters), _at(access.slot, counters)
    what = access.buffer, access.sizes, access.strides, access.element_bytes
    return FlatAccess(*what, offset, slot, limits, access.outside, access.run_overhead_bytes)


def _at(affine: FlatAffine, counters: Sequence[int]) -> FlatAffine:
    if not affine.coefficients:
        return affine
    return FlatAffine(affine.constant + sum(map(mul, affine.coefficients, counters)))
