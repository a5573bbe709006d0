"""A timeline as the page reads it: rows of numbers, as few characters as it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.report.layout import ranks_of_tiles
from npuflow.report.measures import Occupancy
from npuflow.report.timeline import Held, Slice, Timeline, tile_name
from npuflow.report.traffic import is_whole_tensor
from npuflow.simulate.program import FlatCompute, FlatEngine, Program
from npuflow.simulate.walk import leaves

Json = Mapping[str, object]


def timeline_json(timeline: Timeline, occupancy: Sequence[Occupancy]) -> Json:
    """Engines with their slices; times are cycles."""
    ranks = ranks_of_tiles(timeline.program)
    words: dict[tuple[str, str, str, int], int] = {}
    by_engine: dict[int, list[Slice]] = {}
    for one in timeline.slices:
        by_engine.setdefault(one.engine, []).append(one)
    return {
        "cycles": timeline.cycles,
        "begin": timeline.begin,
        "covered": timeline.covered,
        "cycles_per_us": timeline.cycles_per_us,
        "launch": timeline.launch,
        "engines": [
            [engine.name, tile_name(engine), engine.kind, _place(engine, ranks), _row(by_engine.get(number, []), words)]
            for number, engine in enumerate(timeline.program.engines)
        ],
        "words": list(words),
        "overview": {"known": timeline.overview.known, "shares": timeline.overview.shares},
        "memories": _memories(timeline.held, _sizes(timeline.program, occupancy)),
    }


def _place(engine: FlatEngine, ranks: Mapping[str, int]) -> tuple[int, ...]:
    """What engines are shown in the order of: from the cores outward, tile by tile, what computes before the rest."""
    if engine.tile is None:
        return (max(ranks.values(), default=0) + 1, 0, 0, 0)
    computes = any(isinstance(step, FlatCompute) for step in leaves(engine.body))
    return (ranks[tile_name(engine)], *engine.tile, 0 if computes else 1)


def _row(slices: Sequence[Slice], words: dict[tuple[str, str, str, int], int]) -> list[int]:
    """Three numbers a slice: what it is, the cycles since the one before ended, and how many it takes."""
    row, last = [], 0
    for one in sorted(slices, key=lambda one: one.begin):
        # Which of alike semaphores and streams it is follows from the engine.
        step = one.step.partition("[")[0]
        word = words.setdefault((one.name, one.kind, step, one.bytes), len(words))
        row += [word, one.begin - last, one.end - one.begin]
        last = one.end
    return row


def _sizes(program: Program, occupancy: Sequence[Occupancy]) -> Mapping[str, int]:
    """The bytes that may be used of each memory on chip that isn't a tensor's own."""
    level_of = {memory.name: memory.level for memory in program.memories}
    usable = {level_of[one.memory]: one.usable_bytes for one in occupancy}
    own = {buffer.memory for buffer in program.buffers if is_whole_tensor(buffer)}
    return {name: usable[level] for name, level in level_of.items() if level in usable and name not in own}


def _memories(held: Sequence[Held], sizes: Mapping[str, int]) -> list[Json]:
    """What each memory held: tensor, address, size, the cycles since the one before began, and how many it takes.

    A tensor at home in a memory tile has a memory of its own, of its size.
    """
    by_memory: dict[str, list[Held]] = {}
    for one in held:
        by_memory.setdefault(one.memory, []).append(one)
    found: list[Json] = []
    for memory in sorted(by_memory):
        row, last = [], 0
        tensors = list(dict.fromkeys(one.tensor for one in by_memory[memory]))
        for one in sorted(by_memory[memory], key=lambda one: one.begin):
            row += [tensors.index(one.tensor), one.address_bytes, one.size_bytes, one.begin - last, one.end - one.begin]
            last = one.begin
        own = max(one.address_bytes + one.size_bytes for one in by_memory[memory])
        found.append({"name": memory, "size": sizes.get(memory, own), "held": row, "tensors": tensors})
    return found
