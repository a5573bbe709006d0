"""Which of the two inward lanes a buffer takes, and which memory tiles' channels serve one core each. Pure.

A lane is an input channel of a core, with all that feeds it. What is divided by rows takes lane 0, all else lane 1;
where nothing is divided by rows, both lanes are by columns and share what is moved, or the descriptors that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from npuflow.schedule.data.model import Stage
from npuflow.schedule.nest.nest import L1, L2, L3, ROW, BufferInfo, Nest, Transfer, walk
from npuflow.schedule.project.layout import Part
from npuflow.strategy.lane_descriptors import RESULT_CHANNELS, Moved, Results, TileDma, evenest
from npuflow.target.model import DmaEngine


@dataclass(frozen=True)
class Lanes:
    """The lane of each L2 buffer that is read, by its identity; and the lanes with a channel for each row."""

    by_rows: bool
    of: Mapping[int, int]
    separate: frozenset[int]


@dataclass(frozen=True)
class _Load:
    """What a buffer's way inward carries in all: bytes into a memory tile, and out of it for one row and for all."""

    into: int
    out: int
    is_separate: bool

    def through(self, rows: int) -> int:
        """Bytes through the busier of the lane's two channels of a memory tile, where one serves all rows."""
        return max(self.into, self.out * rows if self.is_separate else self.out)


def assign_lanes(nest: Nest, parts: Mapping[int, Part], channels_out: int) -> Lanes:
    """Balances what goes by columns over both lanes, then gives rows channels of their own where that speeds up."""
    rows = nest.grid[0]
    buffers = [b for b in _read_buffers(nest) if id(b) in parts]
    if any(parts[id(b)].coordinate == ROW for b in buffers):
        lanes = {id(b): 0 if parts[id(b)].coordinate == ROW else 1 for b in buffers}
        return Lanes(True, lanes, frozenset())
    loads = {id(b): _load(b, nest, parts[id(b)]) for b in buffers}
    lanes, totals = {}, [0, 0]
    for key in sorted(loads, key=lambda key: -loads[key].through(rows)):
        lane = 1 if totals[1] <= totals[0] else 0
        lanes[key] = lane
        totals[lane] += loads[key].through(rows)
    return Lanes(False, lanes, _separate(loads, lanes, rows, channels_out))


def even_lanes(nest: Nest, lanes: Lanes, taken: Mapping[tuple[Stage, str], int], dma: DmaEngine) -> Lanes:
    """Balances descriptors instead; `taken` are those of each stage's engines for each buffer, with other lanes."""
    if lanes.by_rows:
        return lanes
    rows, moved = nest.grid[0], []
    buffers = [b for b in _read_buffers(nest) if id(b) in lanes.of]
    for buffer in buffers:
        by_rows, emptied = _is_by_rows(buffer, nest), taken[Stage.MEMORY_OUT, buffer.name]
        shared = by_rows and lanes.of[id(buffer)] not in lanes.separate
        moved.append(Moved(taken[Stage.MEMORY_IN, buffer.name], -(-emptied // rows) if shared else emptied, by_rows))
    gathered, left = (
        sum(n for (stage, _), n in taken.items() if stage is its) for its in (Stage.RESULT_IN, Stage.RESULT_OUT)
    )
    choice = evenest(tuple(moved), Results(gathered, left), TileDma(rows, dma.channels_out, dma.descriptor_groups))
    return Lanes(False, {id(b): lane for b, lane in zip(buffers, choice.lanes)}, choice.separate)


def _read_buffers(nest: Nest) -> list[BufferInfo]:
    """The L2 buffers that cores read, in the order of their first use."""
    moved = (s.source.buffer for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.target.buffer.space == L1)
    return list(dict.fromkeys(b for b in moved if b.space == L2))


def _is_by_rows(buffer: BufferInfo, nest: Nest) -> bool:
    """Whether rows of cores read something of their own from a buffer that is divided by columns."""
    moved = (s.source for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.target.buffer.space == L1)
    return any(source.buffer is buffer and source.offset.coefficient(ROW) != 0 for source in moved)


def _load(buffer: BufferInfo, nest: Nest, part: Part) -> _Load:
    into = out = 0
    for statement, around in walk(nest.body):
        if not isinstance(statement, Transfer):
            continue
        turns = prod(loop.trips for loop in around if not loop.grid)
        if statement.target.buffer is buffer and statement.source.buffer.space == L3:
            into += turns * prod(part.shape) * buffer.element_bytes
        if statement.source.buffer is buffer and statement.target.buffer.space == L1:
            moved = prod(f.size for d in statement.dimensions for f in d.factors)
            out += turns * moved * buffer.element_bytes
    return _Load(into, out, _is_by_rows(buffer, nest))


def _separate(loads: Mapping[int, _Load], lanes: Mapping[int, int], rows: int, channels_out: int) -> frozenset[int]:
    """Lanes whose rows get channels of their own: those that move most for single rows first, while channels last.

    A lane that moves more for all rows keeps its multicast: each row's channel would carry all of that again.
    """
    spare = channels_out - RESULT_CHANNELS - len(set(lanes.values()))
    for_rows, for_all = (dict.fromkeys(lanes.values(), 0) for _ in range(2))
    for key, lane in lanes.items():
        (for_rows if loads[key].is_separate else for_all)[lane] += loads[key].out
    chosen = set()
    for lane in sorted(for_rows, key=lambda lane: -for_rows[lane]):
        if for_rows[lane] * rows > for_all[lane] and 0 < rows - 1 <= spare:
            chosen.add(lane)
            spare -= rows - 1
    return frozenset(chosen)
