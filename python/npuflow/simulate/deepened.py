"""Programs whose buffers have more slots: who fills them can be further ahead of who empties them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from npuflow.simulate.program import (
    FlatAcquire,
    FlatBuffer,
    FlatLoop,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatStep,
    Program,
)


def deepened(program: Program, depths: Mapping[str, int]) -> Program:
    """The program with buffers of at least so many slots, by name, each filled one slot after another."""
    more = {b.name: depths[b.name] - b.depth for b in program.buffers if depths.get(b.name, 0) > b.depth}
    if not more:
        return program
    buffers = tuple(replace(b, depth=depths[b.name]) if b.name in more else b for b in program.buffers)
    empty, full = dict[str, int](), dict[str, int]()
    for engine in program.engines:
        if more.keys() & engine.moved_buffers:
            for takes, step, gives in fillings(engine.body):
                slots = more.get(step.access.buffer, 0)
                empty[takes.semaphore], full[gives.semaphore] = takes.count * slots, gives.count * slots
    semaphores = tuple(
        _with_more(one, empty.get(one.name, 0), full.get(one.name, 0)) if one.name in empty or one.name in full else one
        for one in program.semaphores
    )
    return replace(with_buffers(program, buffers), semaphores=semaphores)


def _with_more(semaphore: FlatSemaphore, empty: int, full: int) -> FlatSemaphore:
    """A semaphore of so many more empty slots, or full ones."""
    return replace(semaphore, initial=semaphore.initial + empty, maximum=semaphore.maximum + empty + full)


def with_buffers(program: Program, buffers: tuple[FlatBuffer, ...]) -> Program:
    """The program with other buffers, in memories that are as large as these need."""
    ends = {memory.name: memory.bytes for memory in program.memories}
    for buffer in buffers:
        ends[buffer.memory] = max(ends[buffer.memory], buffer.address_bytes + buffer.depth * buffer.slot_bytes)
    memories = tuple(m if ends[m.name] == m.bytes else replace(m, bytes=ends[m.name]) for m in program.memories)
    return replace(program, buffers=buffers, memories=memories)


def fillings(body: tuple[FlatStep, ...]) -> Iterator[tuple[FlatAcquire, FlatReceive, FlatRelease]]:
    """What is received between taking an empty slot and giving a full one."""
    for (before, step), (_, behind) in pairwise(pairwise(body)):
        if isinstance(before, FlatAcquire) and isinstance(step, FlatReceive) and isinstance(behind, FlatRelease):
            yield before, step, behind
    for step in body:
        if isinstance(step, FlatLoop):
            yield from fillings(step.body)
