"""Which tensor a buffer on chip holds, and which way it travels. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.simulate.program import FlatReceive, FlatSend, Program
from npuflow.simulate.walk import receives, sends


@dataclass(frozen=True)
class Flows:
    """`tensor_of` finds the tensor in DRAM of every buffer's `tensor`; `inward` are those filled from further out."""

    tensor_of: dict[str, str]
    inward: frozenset[str]


def flows_of(program: Program) -> Flows:
    """Follows every stream from the buffers it is fed from to those it fills."""
    kind_of = {buffer.name: buffer.tensor for buffer in program.buffers}
    level_of_memory = {memory.name: memory.level for memory in program.memories}
    level_of = {buffer.tensor: level_of_memory[buffer.memory] for buffer in program.buffers}
    pairs = set(_pairs(program, kind_of))
    tensor_of = {tensor: tensor for tensor, level in level_of.items() if level == max(level_of.values())}
    while True:
        more = {new: tensor_of[old] for pair in pairs for old, new in (pair, pair[::-1]) if old in tensor_of}
        more = {new: tensor for new, tensor in more.items() if new not in tensor_of}
        if not more:
            break
        tensor_of |= more
    inward = frozenset(target for source, target in pairs if level_of[source] > level_of[target])
    return Flows(tensor_of, inward)


def _pairs(program: Program, kind_of: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Source and target of what travels on each stream, both ends being in the same order."""
    sources: dict[str, list[str]] = {}
    targets: dict[str, list[str]] = {}
    for send in sends(program):
        _add(sources, send, kind_of)
    for receive in receives(program):
        _add(targets, receive, kind_of)
    for stream, filled in targets.items():
        yield from zip(sources.get(stream, []), filled)


def _add(ends: dict[str, list[str]], step: FlatSend | FlatReceive, kind_of: dict[str, str]) -> None:
    known = ends.setdefault(step.stream, [])
    tensor = kind_of[step.access.buffer]
    if tensor not in known:
        known.append(tensor)
