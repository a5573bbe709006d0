"""Engines that compute side by side where work goes to and fro between them. Pure.

One multiplies, another one works on the products, the first multiplies again: in the nest's order it would wait for the
other in between. Where there are slots for two tiles, it does the first part of a tile and then the second part of the
tile before, with which the other engine is done:

    for tile                        first(0)
      first(tile)                   for tile but the last
      second(tile)                    first(tile + 1)
                                      second(tile)
                                    second(last)

Where work comes back once more, there is a third part, of the tile before that, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Repeat, Step, substitute_step
from npuflow.schedule.nest.nest import Allocate, BufferInfo, Kernel, Loop, Statement, Transfer, walk
from npuflow.schedule.project.rings import Rings
from npuflow.schedule.project.routes import EngineKey, Routes


def turning_body(loop: Loop) -> list[Statement]:
    """The statements that a loop in time repeats on a core."""
    body = loop.body
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].grid:
        body = body[0].body
    return body


def later_parts(body: Sequence[Statement], key: EngineKey, routes: Routes, rings: Rings) -> Sequence[int]:
    """The places in a body from which on an engine works on what others made of its part before; none if it may not.

    What several parts, or engines, touch must have a slot for each turn between them, and two at least; what all turns
    read needs none. What comes in for a part, and holds up what a lane brings for parts before it, must have slots for
    the turns that it waits. Where slots don't suffice for all parts, the last ones are one.
    """
    engines = [_computing(statement, routes) for statement in body]
    if any(len(its) > 1 for its in engines):
        return ()
    parts = _parts(engines)
    for most in range(max(map(len, parts.values()), default=0), 0, -1):
        limited = {engine: places[:most] for engine, places in parts.items()}
        if _have_slots(body, limited, routes, rings):
            return limited.get(key, ())
    return ()


def _have_slots(
    body: Sequence[Statement], parts: Mapping[EngineKey, Sequence[int]], routes: Routes, rings: Rings
) -> bool:
    """Whether buffers have slots for engines that work on parts of several tiles."""
    inside = {statement.buffer for statement in body if isinstance(statement, Allocate)}
    written = {buffer for s, _ in walk(list(body)) if isinstance(s, Kernel) for buffer in s.writes}
    users: dict[BufferInfo, set[tuple[EngineKey, int]]] = {}
    for place, statement in enumerate(body):
        for buffer, engine in _touched(statement, routes):
            behind = sum(place >= begin for begin in parts.get(engine, ()))
            users.setdefault(buffer, set()).add((engine, behind))
    for buffer, its in users.items():
        turns = [behind for _, behind in its]
        lacks = rings.depth(buffer) < max(2, max(turns) - min(turns) + 1) if buffer in inside else buffer in written
        if len(its) > 1 and lacks:
            return False
    late = {buffer: [turn for _, turn in its] for buffer, its in users.items() if buffer in inside}
    return not _hold_up(body, late, routes, rings)


def _hold_up(
    body: Sequence[Statement], behind: Mapping[BufferInfo, Sequence[int]], routes: Routes, rings: Rings
) -> bool:
    """Whether a lane would wait for a slot that is only free once it has brought what it brings behind that.

    A slot of what is read so many turns behind is free in as many turns; by then earlier parts need later tiles.
    """
    lanes: dict[EngineKey, list[BufferInfo]] = {}
    for transfer, _ in walk(list(body)):
        if isinstance(transfer, Transfer) and transfer.target.buffer in behind:
            lanes.setdefault(routes.of(transfer).receiver, []).append(transfer.target.buffer)
    for brought in lanes.values():
        for place, buffer in enumerate(brought):
            for other_place, other in enumerate(brought):
                ahead = max(behind[buffer]) - min(behind[other])
                if ahead > 0 and rings.depth(buffer) < ahead + (other_place > place):
                    return True
    return False


def _parts(engines: Sequence[set[EngineKey]]) -> dict[EngineKey, list[int]]:
    """Where each engine works again after another one has worked behind it."""
    seen: set[EngineKey] = set()
    passed: set[EngineKey] = set()
    found: dict[EngineKey, list[int]] = {}
    for place, its in enumerate(engines):
        for engine in its:
            if engine in passed:
                found.setdefault(engine, []).append(place)
            passed = (passed | seen) - {engine}
            seen.add(engine)
    return found


def _computing(statement: Statement, routes: Routes) -> set[EngineKey]:
    return {routes.engine_of(inner) for inner, _ in walk([statement]) if isinstance(inner, Kernel)}


def _touched(statement: Statement, routes: Routes) -> Iterator[tuple[BufferInfo, EngineKey]]:
    for inner, _ in walk([statement]):
        if isinstance(inner, Kernel):
            yield from ((buffer, routes.engine_of(inner)) for buffer in (*inner.reads, *inner.writes))


def skewed(loop: Loop, parts: Sequence[Sequence[Step]]) -> list[Step]:
    """A loop of several parts, each of which is a turn behind the one before."""
    counter, last = loop.counter, len(parts) - 1
    before = [step for turn in range(last) for step in _turn(loop, parts, turn)]
    after = [step for turn in range(max(last, loop.trips), loop.trips + last) for step in _turn(loop, parts, turn)]
    ways = ((part, Affine.counter(counter, constant=last - behind)) for behind, part in enumerate(parts))
    steady = Repeat(
        counter, loop.trips - last, tuple(step for part, at in ways for step in _in_turn(part, counter, at))
    )
    return [*before, *([steady] if steady.trips > 0 else []), *after]


def _turn(loop: Loop, parts: Sequence[Sequence[Step]], turn: int) -> list[Step]:
    """A turn at the beginning or the end, in which not all parts have a tile."""
    tiles = ((part, turn - behind) for behind, part in enumerate(parts))
    own = ((part, tile) for part, tile in tiles if 0 <= tile < loop.trips)
    return [step for part, tile in own for step in _in_turn(part, loop.counter, Affine(tile))]


def _in_turn(steps: Sequence[Step], counter: str, turn: Affine) -> list[Step]:
    return [substitute_step(step, {counter: turn}) for step in steps]
