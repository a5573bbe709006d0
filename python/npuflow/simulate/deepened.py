"""Programs whose buffers have more slots: who fills them can be further ahead of who empties them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

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

_Step = TypeVar("_Step", FlatAcquire, FlatRelease)


def deepened(program: Program, depths: Mapping[str, int]) -> Program:
    """The program with buffers of at least so many slots, by name, each filled one slot after another."""
    more = {b.name: depths[b.name] - b.depth for b in program.buffers if depths.get(b.name, 0) > b.depth}
    if not more:
        return program
    buffers = tuple(replace(b, depth=depths[b.name]) if b.name in more else b for b in program.buffers)
    empty, full = dict[str, int](), dict[str, int]()
    for engine in program.engines:
        if more.keys() & engine.moved_buffers:
            for filling in fillings(engine.body):
                slots = more.get(filling.step.access.buffer, 0)
                empty |= {takes.semaphore: takes.count * slots for takes in filling.takes}
                full |= {gives.semaphore: gives.count * slots for gives in filling.gives}
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


@dataclass(frozen=True)
class Filling:
    """What is received between taking an empty slot of each who empties it, and giving each of these a full one."""

    takes: tuple[FlatAcquire, ...]
    step: FlatReceive
    gives: tuple[FlatRelease, ...]


def fillings(body: tuple[FlatStep, ...]) -> Iterator[Filling]:
    """What is received so, one after the other."""
    for number, step in enumerate(body):
        if isinstance(step, FlatLoop):
            yield from fillings(step.body)
        elif (found := filling_at(body, number)) is not None:
            yield found


def filling_at(body: Sequence[FlatStep], number: int) -> Filling | None:
    """The filling whose receiving step has that number; None where it is no such step, or has others beside it."""
    step = body[number]
    if not isinstance(step, FlatReceive):
        return None
    before = (body[place] for place in range(number - 1, -1, -1))
    behind = (body[place] for place in range(number + 1, len(body)))
    takes, gives = _first_of(FlatAcquire, before)[::-1], _first_of(FlatRelease, behind)
    return Filling(takes, step, gives) if takes and gives else None


def _first_of(kind: type[_Step], steps: Iterable[FlatStep]) -> tuple[_Step, ...]:
    """The first ones, as long as they are of a kind."""
    found = []
    for step in steps:
        if not isinstance(step, kind):
            break
        found.append(step)
    return tuple(found)
