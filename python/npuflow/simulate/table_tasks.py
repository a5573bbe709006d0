"""Programs whose tables lie in DRAM as channels read them: what a channel reads of them in a row is one task. Pure.

    before                           behind
    acquire shim_out0_task[0]        acquire shim_out0_task[0]
    send arg1                        send arg1
    release shim_out0_room[0]        send arg2
    acquire shim_out0_task[0]        release shim_out0_room[0]
    send arg2
    release shim_out0_room[0]

Tables are constants, which are laid out once for all launches: their bytes one behind the other as a channel sends them
are one run, and so one descriptor. Runs are timed as if they lay apart, as they do for who executes the program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from npuflow.simulate.channel_tasks import ChannelTask, NotTaskByTaskError, tasks_of
from npuflow.simulate.prefetch import handing_out
from npuflow.simulate.program import FlatAccess, FlatEngine, Program
from npuflow.target import Device


def with_table_tasks(program: Program, device: Device, tables: Collection[str]) -> Program:
    """The program with one task for what a channel reads in a row of memories that are `tables`, nothing of it twice.

    Where ports write into scratchpads themselves, a descriptor says where to, and each transfer needs its own.
    """
    dma = device.dma(device.dram_level)
    if dma.reaches or not tables:
        return program
    join = _Joining(program, frozenset(tables))
    try:
        engines = [join.engine(one) if one.kind == f"{dma.name} out" else one for one in program.engines]
        return program if not join.dropped else replace(program, engines=tuple(map(join.control, engines)))
    except NotTaskByTaskError:
        return program


@dataclass
class _Joining:
    """`dropped` are tasks that became part of others, by semaphore and number there."""

    program: Program
    tables: frozenset[str]
    dropped: set[tuple[str, int]] = field(default_factory=set)

    def engine(self, engine: FlatEngine) -> FlatEngine:
        """A channel beside DRAM with the tasks that are left."""
        if not any(self._is_table(buffer) for buffer in engine.moved_buffers):
            return engine
        before = len(self.dropped)
        body = tuple(step for task in self._tasks(engine) for step in task.steps)
        return replace(engine, body=body) if len(self.dropped) > before else engine

    def control(self, engine: FlatEngine) -> FlatEngine:
        """The control processor without tasks that there are no more; other engines as they are."""
        return engine if engine.kind != "control" else replace(engine, body=tuple(handing_out(engine, self.dropped)))

    def _tasks(self, engine: FlatEngine) -> Iterator[ChannelTask]:
        last: ChannelTask | None = None
        counts: dict[str, int] = {}
        for task in tasks_of(engine):
            semaphore = task.waits.semaphore
            counts[semaphore] = counts.get(semaphore, -1) + 1
            if last is not None and self._goes_on(last, task):
                self.dropped.add((semaphore, counts[semaphore]))
                last = replace(last, transfers=(*last.transfers, *task.transfers))
                continue
            if last is not None:
                yield last
            last = task
        if last is not None:
            yield last

    def _goes_on(self, last: ChannelTask, task: ChannelTask) -> bool:
        """Whether a task reads what may lie behind what another one reads, and goes the same way."""
        before, own = ([step.access for step in one.transfers] for one in (last, task))
        is_same_way = (last.waits, last.gives) == (task.waits, task.gives) and len(
            {self._ends[step.stream] for one in (last, task) for step in one.transfers}
        ) == 1
        return is_same_way and all(map(self._is_whole, (*before, *own))) and not {*before} & {*own}

    def _is_whole(self, access: FlatAccess) -> bool:
        return self._is_table(access.buffer) and not access.limits

    def _is_table(self, buffer: str) -> bool:
        return self._memories.get(buffer) in self.tables

    @cached_property
    def _memories(self) -> dict[str, str]:
        return {buffer.name: buffer.memory for buffer in self.program.buffers}

    @cached_property
    def _ends(self) -> dict[str, tuple[str, ...]]:
        """Where each stream ends."""
        return {stream.name: stream.receivers for stream in self.program.streams}
