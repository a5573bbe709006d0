"""Programs whose tensors are at home where DMA engines beside DRAM reach them: these move them as before. Pure.

Nothing changes but what DRAM takes: its rates, its latency and its runs. A transfer that lies in several slabs becomes
several at this end, one after the other, with a descriptor each, which the control processor writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from npuflow.simulate.at_home import AtHome, users_of
from npuflow.simulate.channel_tasks import FlatTransfer, NotTaskByTaskError, steps_of, tasks_of
from npuflow.simulate.home_ports import NearTensor
from npuflow.simulate.home_tasks import NotAtHomeError, handed_out
from npuflow.simulate.platform import Platform
from npuflow.simulate.program import (
    FlatControl,
    FlatEngine,
    FlatLoop,
    FlatMemory,
    FlatReceive,
    FlatSend,
    FlatStep,
    Program,
)
from npuflow.simulate.slabs import slab_parts
from npuflow.target import Device


def by_ports(program: Program, device: Device, tensors: Sequence[NearTensor]) -> AtHome:
    """The program with tensors at home; raises NotAtHomeError where one can't be."""
    assert device.home_level is not None, "whose tensors are at home has a level for that"
    moved = program
    try:
        for one in tensors:
            moved = _Near(moved, device, device.home_level, one).moved()
    except NotTaskByTaskError as error:
        raise NotAtHomeError(str(error)) from error
    return AtHome(moved, near=tuple(tensors))


@dataclass(frozen=True)
class _Near:
    program: Program
    device: Device
    level: int
    tensor: NearTensor

    def moved(self) -> Program:
        users = {engine.name: engine for engine in users_of(self.program, self.tensor.name)}
        more = {} if self._is_whole else dict(chain.from_iterable(map(self._more, users.values())))
        engines = []
        for engine in self.program.engines:
            if engine.name in users:
                body = self._steps(engine.body if self._is_whole else steps_of(engine))
                engines.append(replace(engine, body=body))
            elif engine.kind == "control" and any(map(any, more.values())):
                engines.append(replace(engine, body=tuple(self._written(engine, more))))
            else:
                engines.append(engine)
        home = replace(self._memory, level=self.level, is_near=True)
        memories = tuple(home if one == self._memory else one for one in self.program.memories)
        return replace(self.program, engines=tuple(engines), memories=memories)

    @property
    def _memory(self) -> FlatMemory:
        (found,) = [one for one in self.program.memories if one.name == self.tensor.name]
        return found

    @property
    def _is_whole(self) -> bool:
        """Whether all of it is in one slab."""
        return self._memory.bytes <= self.tensor.slab_bytes

    def _steps(self, steps: Sequence[FlatStep]) -> tuple[FlatStep, ...]:
        found: list[FlatStep] = []
        for step in steps:
            if isinstance(step, FlatLoop):
                found.append(replace(step, body=self._steps(step.body)))
            elif isinstance(step, FlatSend | FlatReceive) and self._is_own(step):
                found += self._parts(step)
            else:
                found.append(step)
        return tuple(found)

    def _is_own(self, transfer: FlatTransfer) -> bool:
        return transfer.access.buffer == self.tensor.name

    def _parts(self, transfer: FlatTransfer) -> Iterator[FlatTransfer]:
        """A transfer slab by slab."""
        access = replace(transfer.access, run_overhead_bytes=0.0)
        if self._is_whole:
            yield replace(transfer, access=access)
            return
        for part in slab_parts(access, self.tensor.slab_bytes // access.element_bytes):
            yield replace(transfer, access=part.access)

    def _more(self, engine: FlatEngine) -> Iterator[tuple[str, list[int]]]:
        """By the semaphore that hands out an engine's tasks, how many more descriptors each of them takes."""
        tasks = list(tasks_of(engine))
        for semaphore in dict.fromkeys(task.waits.semaphore for task in tasks):
            own = (task for task in tasks if task.waits.semaphore == semaphore)
            yield (
                semaphore,
                [sum(len([*self._parts(t)]) - 1 for t in task.transfers if self._is_own(t)) for task in own],
            )

    def _written(self, control: FlatEngine, more: dict[str, list[int]]) -> Iterator[FlatStep]:
        """The control processor's steps, which write more descriptors for some tasks."""
        each = Platform(self.device).cycles(self.device.control.descriptor_seconds)
        left = {semaphore: iter(counts) for semaphore, counts in more.items()}
        for semaphore, steps in handed_out(control):
            count = next(left[semaphore], None) if semaphore in left else 0
            if count is None:
                raise NotAtHomeError("its tasks are handed out in another way than one by one")
            for step in steps:
                yield (
                    replace(step, cycles=step.cycles + each * count)
                    if isinstance(step, FlatControl) and count
                    else step
                )
        if any(next(one, None) is not None for one in left.values()):
            raise NotAtHomeError("its tasks are handed out in another way than one by one")
