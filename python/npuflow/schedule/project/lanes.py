"""Which of the inward lanes a buffer takes, and which memory tiles' channels serve one core each. Pure.

A lane is an input channel of a core, with all that feeds it. What is divided by rows takes lane 0, all else the others;
where nothing is divided by rows, all lanes are by columns and share what is moved, or the descriptors that it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from npuflow.errors import Diagnostic, InputError, Severity, with_hint
from npuflow.schedule.nest.nest import L1, L2, L3, ROW, BufferInfo, Nest, Transfer, walk
from npuflow.schedule.project.layout import Part
from npuflow.strategy.lane_descriptors import Moved, Results, TileDma, evenest
from npuflow.target import Device, Stage

# Ways to take the lanes that are looked at one by one.
_MOST_WAYS = 16


@dataclass(frozen=True)
class Lanes:
    """The lane of each L2 buffer that is read; and the lanes with a channel for each row."""

    by_rows: bool
    of: Mapping[BufferInfo, int]
    separate: frozenset[int]


@dataclass(frozen=True)
class _Load:
    """What a buffer's way inward carries in all: bytes into a memory tile, and out of it for one row and for all.

    It is filled so many `times`.
    """

    into: int
    out: int
    is_separate: bool
    times: int = 0

    def through(self, rows: int) -> int:
        """Bytes through the busier of the lane's two channels of a memory tile, where one serves all rows."""
        return max(self.into, self.out * rows if self.is_separate else self.out)


def assign_lanes(nest: Nest, parts: Mapping[BufferInfo, Part], dma: TileDma) -> Lanes:
    """Balances what goes by columns over the lanes, then gives rows channels of their own where that speeds up."""
    rows = nest.grid[0]
    buffers = [b for b in _read_buffers(nest) if b in parts]
    by_rows = [b for b in buffers if parts[b].coordinate == ROW]
    loads = {b: _load(b, nest, parts[b]) for b in buffers if b not in by_rows}
    if by_rows and loads and dma.lanes < 2:
        one, other = by_rows[0].name, next(iter(loads)).name
        what = f"{one} goes by rows of cores and {other} by columns, each in a lane of its own, and the device has 1"
        hint = "give the hops from 3 to 2 and from 2 to 1 of the device file 2 lanes"
        raise InputError(Diagnostic(Severity.ERROR, with_hint(what, hint), by_rows[0].location))
    if by_rows:
        return Lanes(True, dict.fromkeys(by_rows, 0) | _balanced(loads, rows, range(1, dma.lanes)), frozenset())
    lanes = _balanced(loads, rows, range(dma.lanes))
    return Lanes(False, lanes, _separate(loads, lanes, dma))


def lanes_from_l3(nest: Nest, count: int) -> Lanes:
    """Lanes of what comes into L1 from L3 at once: balanced by what is moved."""
    loads: dict[BufferInfo, _Load] = {}
    for statement, around in walk(nest.body):
        if isinstance(statement, Transfer) and statement.source.buffer.space == L3:
            moved = prod(f.size for d in statement.dimensions for f in d.factors) * prod(loop.trips for loop in around)
            key, before = statement.target.buffer, loads.get(statement.target.buffer, _Load(0, 0, False))
            loads[key] = _Load(before.into + moved * statement.target.buffer.element_bytes, 0, False)
    return Lanes(False, _balanced(loads, 1, range(count)), frozenset())


def _balanced(loads: Mapping[BufferInfo, _Load], rows: int, lanes: Sequence[int]) -> dict[BufferInfo, int]:
    """The largest load first, each to the lane that has least; of several, to the last."""
    chosen, totals = {}, dict.fromkeys(reversed(lanes), 0)
    for key in sorted(loads, key=lambda key: -loads[key].through(rows)):
        chosen[key] = min(totals, key=lambda lane: totals[lane])
        totals[chosen[key]] += loads[key].through(rows)
    return chosen


def even_lanes(nest: Nest, lanes: Lanes, taken: Mapping[tuple[Stage, str], int], device: Device) -> Lanes:
    """Balances descriptors instead; `taken` are those of each stage's engines for each buffer, with other lanes."""
    if lanes.by_rows:
        return lanes
    rows, moved, ways = nest.grid[0], [], device.ways
    (_, filling), (emptying, _), (_, gathering), (leaving, _) = (
        ways.hop(*levels) for levels in ((3, 2), (2, 1), (1, 2), (2, 3))
    )
    buffers = [b for b in _read_buffers(nest) if b in lanes.of]
    for buffer in buffers:
        by_rows, emptied = _is_by_rows(buffer, nest), taken[emptying, buffer.name]
        shared = by_rows and lanes.of[buffer] not in lanes.separate
        moved.append(Moved(taken[filling, buffer.name], -(-emptied // rows) if shared else emptied, by_rows))
    gathered, left = (sum(n for (stage, _), n in taken.items() if stage == its) for its in (gathering, leaving))
    choice = evenest(tuple(moved), Results(gathered, left), TileDma.of(device, rows))
    return Lanes(False, dict(zip(buffers, choice.lanes)), choice.separate)


def other_lanes(nest: Nest, parts: Mapping[BufferInfo, Part], lanes: Lanes, dma: TileDma) -> Iterator[Lanes]:
    """All ways to take the lanes, where they are few, in which the busiest channel moves no more than by some lanes.

    Rows have channels of their own where that is faster, or none.
    """
    if lanes.by_rows:
        return
    loads = {b: _load(b, nest, parts[b]) for b in lanes.of}
    units = _going_together(loads, dma)
    if dma.lanes ** len(units) > _MOST_WAYS:
        return
    most = _busiest(loads, lanes, dma.rows)
    for numbers in product(range(dma.lanes), repeat=len(units)):
        of = {buffer: number for unit, number in zip(units, numbers) for buffer in unit}
        for separate in dict.fromkeys((_separate(loads, of, dma), frozenset[int]())):
            if _busiest(loads, found := Lanes(False, of, separate), dma.rows) <= most:
                yield found


def _going_together(loads: Mapping[BufferInfo, _Load], dma: TileDma) -> list[list[BufferInfo]]:
    """Each buffer by itself; where these are many, those that are filled once in one: they come between no turns."""
    if dma.lanes ** len(loads) <= _MOST_WAYS:
        return [[buffer] for buffer in loads]
    once = [buffer for buffer, load in loads.items() if load.times == 1]
    return [*([once] if once else []), *([buffer] for buffer in loads if buffer not in once)]


def _busiest(loads: Mapping[BufferInfo, _Load], lanes: Lanes, rows: int) -> int:
    """Bytes through the busiest channel of a memory tile."""
    totals = dict.fromkeys(lanes.of.values(), 0)
    for key, lane in lanes.of.items():
        totals[lane] += loads[key].through(1 if lane in lanes.separate else rows)
    return max(totals.values(), default=0)


def _read_buffers(nest: Nest) -> list[BufferInfo]:
    """The L2 buffers that cores read, in the order of their first use."""
    moved = (s.source.buffer for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.target.buffer.space == L1)
    return list(dict.fromkeys(b for b in moved if b.space == L2))


def _is_by_rows(buffer: BufferInfo, nest: Nest) -> bool:
    """Whether rows of cores read something of their own from a buffer that is divided by columns."""
    moved = (s.source for s, _ in walk(nest.body) if isinstance(s, Transfer) and s.target.buffer.space == L1)
    return any(source.buffer is buffer and source.offset.coefficient(ROW) != 0 for source in moved)


def _load(buffer: BufferInfo, nest: Nest, part: Part) -> _Load:
    into = out = times = 0
    for statement, around in walk(nest.body):
        if not isinstance(statement, Transfer):
            continue
        turns = prod(loop.trips for loop in around if not loop.grid)
        if statement.target.buffer is buffer and statement.source.buffer.space == L3:
            into += turns * prod(part.shape) * buffer.element_bytes
            times += turns
        if statement.source.buffer is buffer and statement.target.buffer.space == L1:
            moved = prod(f.size for d in statement.dimensions for f in d.factors)
            out += turns * moved * buffer.element_bytes
    return _Load(into, out, _is_by_rows(buffer, nest), times)


def _separate(loads: Mapping[BufferInfo, _Load], lanes: Mapping[BufferInfo, int], dma: TileDma) -> frozenset[int]:
    """Lanes whose rows get channels of their own: those that move most for single rows first, while channels last.

    A lane that moves more for all rows keeps its multicast: each row's channel would carry all of that again.
    """
    rows, spare = dma.rows, dma.channels_out - dma.leaving - len(set(lanes.values()))
    for_rows, for_all = (dict.fromkeys(lanes.values(), 0) for _ in range(2))
    for key, lane in lanes.items():
        (for_rows if loads[key].is_separate else for_all)[lane] += loads[key].out
    chosen = set()
    for lane in sorted(for_rows, key=lambda lane: -for_rows[lane]):
        if for_rows[lane] * rows > for_all[lane] and 0 < rows - 1 <= spare:
            chosen.add(lane)
            spare -= rows - 1
    return frozenset(chosen)
