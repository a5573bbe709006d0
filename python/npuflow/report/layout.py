"""Where things are: tiles of the array and what travels between them, buffers in their memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.execute.limits import byte_text
from npuflow.report.measures import Occupancy
from npuflow.report.timeline import tile_name, touched_memories
from npuflow.report.traffic import is_whole_tensor
from npuflow.report.words import percent
from npuflow.simulate.program import CORE_TILE, FlatBuffer, Program
from npuflow.simulate.results import EngineTime, RunResults

Json = Mapping[str, object]


def array_layout(results: RunResults) -> Json:
    """Tiles with their place (row, column) and how busy they are, and links with the bytes that crossed them.

    Rows count from the cores outward: cores first, then what stands by column, then what the array has once.
    """
    program, cycles = results.program, max(results.cycles, 1)
    busiest: dict[str, EngineTime] = {}
    columns: dict[str, int] = {}
    for engine, time in zip(program.engines, results.engines):
        if engine.tile is None:
            continue
        tile = tile_name(engine)
        columns[tile] = engine.tile[1]
        if tile not in busiest or time.busy_cycles > busiest[tile].busy_cycles:
            busiest[tile] = time
    rows = rows_of_tiles(program)
    tiles = [
        [tile, rows[tile], columns[tile], round(time.busy_cycles / cycles, 4), time.name]
        for tile, time in busiest.items()
    ]
    return {"tiles": tiles, "links": _links(results)}


def rows_of_tiles(program: Program) -> dict[str, int]:
    """The row in which each tile is drawn."""
    cores = {tile_name(e): e.tile[0] for e in program.engines if e.tile and e.place == CORE_TILE}
    below = max(cores.values(), default=-1)
    return {tile: cores[tile] if tile in cores else below + rank for tile, rank in ranks_of_tiles(program).items()}


def ranks_of_tiles(program: Program) -> dict[str, int]:
    """0 for tiles of cores, then counting outward; what has no place is last."""
    places = dict.fromkeys(e.place for e in program.engines if e.tile and e.place != CORE_TILE)
    order = [CORE_TILE, *_outward(program, list(places))]
    return {tile_name(e): order.index(e.place) for e in program.engines if e.tile}


def _outward(program: Program, places: Sequence[str]) -> list[str]:
    """Memory tiles, shims: what engines stand in, by the level of what they touch, the innermost first."""
    level_of = {memory.name: memory.level for memory in program.memories}
    memory_of = {buffer.name: buffer.memory for buffer in program.buffers}
    levels: dict[str, int] = {}
    for engine in program.engines:
        touched = [level_of[memory] for memory in touched_memories(engine, memory_of)]
        levels[engine.place] = max([levels.get(engine.place, 0), *touched])
    return sorted(places, key=lambda place: levels[place])


def _links(results: RunResults) -> list[Sequence[object]]:
    """`[from, to, bytes]` between tiles; a multicast counts on the way to each of its receivers."""
    tile_of = {engine.name: tile_name(engine) for engine in results.program.engines}
    total: dict[tuple[str, str], int] = {}
    for stream in results.program.streams:
        for receiver in stream.receivers:
            ends = (tile_of[stream.sender], tile_of[receiver])
            total[ends] = total.get(ends, 0) + results.stream_bytes[stream.name]
    return [[source, target, moved, byte_text(moved)] for (source, target), moved in total.items() if moved]


def memory_maps(program: Program, occupancy: Sequence[Occupancy], tensors: Mapping[str, str]) -> list[Json]:
    """One map per way in which memories on chip are laid out, with the memories that are laid out so.

    `tensors` says whose data a kind of buffer holds.
    """
    level_of = {memory.name: memory.level for memory in program.memories}
    levels = {level_of[one.memory]: one for one in occupancy}
    outermost = max(level_of.values())
    inside: dict[str, list[FlatBuffer]] = {}
    for buffer in program.buffers:
        if level_of[buffer.memory] < outermost and not is_whole_tensor(buffer):
            inside.setdefault(buffer.memory, []).append(buffer)
    alike: dict[tuple[tuple[str, int, int, int], ...], list[str]] = {}
    for memory, buffers in inside.items():
        layout = tuple((f"{tensors[b.tensor]} {b.tensor}", b.address_bytes, b.slot_bytes, b.depth) for b in buffers)
        alike.setdefault(layout, []).append(memory)
    return [_map(layout, memories, levels[level_of[memories[0]]]) for layout, memories in alike.items()]


def _map(layout: Sequence[tuple[str, int, int, int]], memories: Sequence[str], level: Occupancy) -> Json:
    size = level.usable_bytes
    blocks = [
        [tensor, address + slot * number, slot, f"slot {number + 1} of {depth}"]
        for tensor, address, slot, depth in layout
        for number in range(depth)
    ]
    end = max(address + slot * depth for _, address, slot, depth in layout)
    more = f" and {len(memories) - 1} more like it" if len(memories) > 1 else ""
    title = f"{memories[0]}{more}: {end} of {size} bytes ({percent(end / size)})"
    banks = list(range(level.bank_bytes, size, level.bank_bytes)) if level.bank_bytes else []
    return {"title": title, "size": size, "blocks": blocks, "banks": banks}
