"""Rings of engines that hand a buffer around, in the order in which they touch it, and what they wait for. Pure.

Each engine waits for the one before, the first for the last. One that comes back to a buffer, as a vector engine does
to a sum that it began and a matrix engine has added to, is in its ring twice. It waits for nobody where it is its own
neighbour: it does one thing after the other. Computing engines that read a buffer in the same loop do so side by side,
in one place of the ring: who is in front of them hands it to each, and who is behind waits for all.

Buffers that an engine fills right after each other, and that the same one empties, can be handed over as one: then they
share the two semaphores of the first of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Semaphore
from npuflow.schedule.nest.nest import (
    COLUMN,
    L3,
    ROW,
    Allocate,
    BufferInfo,
    Kernel,
    Loop,
    Nest,
    Statement,
    Transfer,
    walk,
)
from npuflow.schedule.project.routes import EngineKey, Routes
from npuflow.target import Work


@dataclass(frozen=True)
class _Scope:
    """Where a buffer is allocated: the loops around it count its slots."""

    loops: tuple[Loop, ...]

    def slot(self) -> Affine:
        total, scale = Affine(), 1
        for loop in reversed(self.loops):
            total = total + Affine.counter(loop.counter, scale)
            scale *= loop.trips
        return total

    def turns(self) -> int:
        """How often the buffer is filled anew."""
        return prod(loop.trips for loop in self.loops)


@dataclass
class _Station:
    """An engine in a ring, and which statements of the body that allocates the buffer it then uses it in."""

    engine: EngineKey
    statements: list[Statement]
    writes: bool = False

    @property
    def may_share(self) -> bool:
        """Whether others may use the buffer at the same time."""
        return not self.writes and self.engine.stage.work is Work.COMPUTE

    def has(self, statement: Statement) -> bool:
        return any(statement is each for each in self.statements)


@dataclass(frozen=True)
class _Stay:
    """The first and the last statement of a body that use a buffer, and the semaphores around them."""

    first: int
    last: int
    waits_for: Sequence[str]
    gives: Sequence[str]


@dataclass
class Rings:
    """The engines, slots and semaphores of each buffer on the chip; some are handed over together if `are_shared`.

    `groups` has these by the first buffer of each, whose semaphores the `others` share.
    """

    nest: Nest
    routes: Routes
    depths: Mapping[str, int]
    are_shared: bool = False
    scopes: dict[BufferInfo, _Scope] = field(default_factory=dict)
    of: dict[BufferInfo, list[_Station]] = field(default_factory=dict)
    groups: dict[BufferInfo, tuple[BufferInfo, ...]] = field(default_factory=dict)
    others: set[BufferInfo] = field(default_factory=set)

    def __post_init__(self) -> None:
        levels: dict[BufferInfo, int] = {}
        for statement, around in walk(self.nest.body):
            if isinstance(statement, Allocate):
                self.scopes[statement.buffer] = _Scope(tuple(loop for loop in around if not loop.grid))
                levels[statement.buffer] = len(around)
            for buffer, engine in self.touches(statement):
                self._add(
                    buffer, engine, (*around, statement)[levels.get(buffer, 0)], writes=_writes(statement, buffer)
                )
        if self.are_shared:
            bodies = [s.body for s, _ in walk(self.nest.body) if isinstance(s, Loop)]
            for body in (self.nest.body, *bodies):
                self.groups |= {group[0]: group for group in self._together(body)}
            self.others = {buffer for group in self.groups.values() for buffer in group[1:]}

    def _add(self, buffer: BufferInfo, engine: EngineKey, statement: Statement, *, writes: bool) -> None:
        """Adds an engine to a buffer's ring, by a statement of the body that allocates it."""
        ring = self.of.setdefault(buffer, [])
        beside = [] if writes else [one for one in self._last_turn(ring) if one.may_share and one.has(statement)]
        station = next((one for one in (*ring[-1:], *beside) if one.engine == engine), None)
        if station is None:
            if ring[-1:] and ring[-1].has(statement) and any(one.engine == engine for one in ring):
                text = f"{engine.name} comes back to {buffer.name} after others used it; hint: use another buffer"
                raise InputError(Diagnostic(Severity.ERROR, text, buffer.location))
            station = _Station(engine, [])
            ring.append(station)
        station.statements.append(statement)
        station.writes |= writes

    def _last_turn(self, ring: Sequence[_Station]) -> list[_Station]:
        turns = _turns(ring)
        return [ring[index] for index in turns[-1]] if turns else []

    def touches(self, statement: Statement) -> list[tuple[BufferInfo, EngineKey]]:
        """The on-chip buffers a statement works on, and the engine that does."""
        if isinstance(statement, Kernel):
            return [(buffer, self.routes.engine_of(statement)) for buffer in (*statement.reads, *statement.writes)]
        if not isinstance(statement, Transfer):
            return []
        route = self.routes.of(statement)
        ends = [(statement.source.buffer, route.sender), (statement.target.buffer, route.receiver)]
        return [(buffer, engine) for buffer, engine in ends if buffer.space != L3]

    def slot(self, buffer: BufferInfo) -> Affine:
        """The slot that is in use, by the loops around."""
        return self.scopes[buffer].slot() if buffer in self.scopes else Affine()

    def depth(self, buffer: BufferInfo) -> int:
        """How many slots a buffer has; more than it is filled would be in vain."""
        return max(1, min(self.depths.get(buffer.name, 1), self.scopes[buffer].turns()))

    def handed_over(self, allocated: Sequence[BufferInfo]) -> Iterator[tuple[BufferInfo, ...]]:
        """Buffers that are allocated in one body, those in one tuple that are handed over as one."""
        for buffer in allocated:
            if buffer not in self.others:
                yield self.groups.get(buffer, (buffer,))

    def semaphores(self, buffer: BufferInfo, span: Sequence[str]) -> Iterator[Semaphore]:
        """What the engines of a buffer's ring wait for: a semaphore for every pair that shares a part of it."""
        if buffer in self.others:
            return
        ring, depth = self.of.get(buffer, []), self.depth(buffer)
        last = _turns(ring)[-1:]
        for (giver, taker), name in self._semaphores(buffer).items():
            is_last = giver in last[0]
            own = set(span)
            for each in (ring[giver].engine, ring[taker].engine):
                own |= {name for name in self.routes.span(each) if name in (ROW, COLUMN)}
            shared = tuple(name for name in (ROW, COLUMN) if name in own)
            yield Semaphore(name, shared, depth if is_last else 0, depth, "space" if is_last else "data")

    def stays(self, group: Sequence[BufferInfo], engine: EngineKey, body: list[Statement]) -> Iterator[_Stay]:
        """Where in the body that allocates buffers an engine uses them: once for each of its places in their ring."""
        first = group[0]
        semaphores = self._semaphores(first) if first in self.of else {}
        for index, station in enumerate(self.of.get(first, ())):
            if station.engine == engine:
                stations = [self.of[buffer][index] for buffer in group]
                places = [
                    place for place, statement in enumerate(body) if any(each.has(statement) for each in stations)
                ]
                waits_for = [name for (_, taker), name in semaphores.items() if taker == index]
                gives = [name for (giver, _), name in semaphores.items() if giver == index]
                yield _Stay(places[0], places[-1], waits_for, gives)

    def _semaphores(self, buffer: BufferInfo) -> dict[tuple[int, int], str]:
        """The semaphore by which one user of a buffer tells another, by their numbers; none tells itself."""
        ring, turns = self._engines(buffer), _turns(self.of[buffer])
        found: dict[tuple[int, int], str] = {}
        known = Counter[tuple[EngineKey, EngineKey]]()
        for own, following in zip(turns, [*turns[1:], turns[0]]):
            for giver, taker in product(own, following):
                pair = ring[giver], ring[taker]
                known[pair] += 1
                if pair[0] != pair[1]:
                    number = f"_{known[pair]}" if known[pair] > 1 else ""
                    found[giver, taker] = f"{buffer.name}_{pair[0].name}_to_{pair[1].name}{number}"
        return found

    def _together(self, body: list[Statement]) -> Iterator[tuple[BufferInfo, ...]]:
        """Buffers of a body that one engine fills with nothing else between, before another one empties any of them."""
        allocated = [s.buffer for s in body if isinstance(s, Allocate) and len(self.of.get(s.buffer, [])) == 2]
        for giver, taker in dict.fromkeys(tuple(self._engines(buffer)) for buffer in allocated):
            theirs = [buffer for buffer in allocated if self._engines(buffer) == [giver, taker]]
            group: list[BufferInfo] = []
            for statement in body:
                filled, emptied = self._used(statement, giver), self._used(statement, taker)
                mine = [b for b in theirs if {b} == filled and self._is_filled_once(b, body, giver)]
                if mine and mine[0] not in group and (not group or self.depth(group[0]) == self.depth(mine[0])):
                    group += mine
                elif filled or not emptied.isdisjoint(group):
                    yield from [tuple(group)] if len(group) > 1 else []
                    group = mine
            yield from [tuple(group)] if len(group) > 1 else []

    def _used(self, statement: Statement, engine: EngineKey) -> set[BufferInfo]:
        """The buffers that an engine touches in a statement."""
        inner = [s for s, _ in walk([statement])]
        return {buffer for s in inner for buffer, its in self.touches(s) if its == engine}

    def _is_filled_once(self, buffer: BufferInfo, body: list[Statement], giver: EngineKey) -> bool:
        return sum(buffer in self._used(statement, giver) for statement in body) == 1

    def _engines(self, buffer: BufferInfo) -> list[EngineKey]:
        return [station.engine for station in self.of[buffer]]


def _writes(statement: Statement, buffer: BufferInfo) -> bool:
    """Whether a statement writes a buffer that it touches."""
    if isinstance(statement, Transfer):
        return statement.target.buffer == buffer
    return isinstance(statement, Kernel) and buffer in statement.writes


def _turns(ring: Sequence[_Station]) -> list[list[int]]:
    """The stations of a ring by number, those together that use the buffer side by side."""
    found: list[list[int]] = []
    for index, station in enumerate(ring):
        before = ring[index - 1] if index else None
        is_beside = before is not None and before.may_share and station.may_share
        if is_beside and before is not None and any(before.has(statement) for statement in station.statements):
            found[-1].append(index)
        else:
            found.append([index])
    return found
