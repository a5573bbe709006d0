"""Engines that compute side by side where work goes to and fro between them. Pure.

One multiplies, another one works on the products, the first multiplies again: in the nest's order it would wait for the
other in between. Where there are slots for two tiles, it does the first part of a tile and then the second part of the
tile before, with which the other engine is done:

    for tile                        first(0)
      first(tile)                   for tile but the last
      second(tile)                    first(tile + 1)
                                      second(tile)
                                    second(last)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Repeat, Step, substitute_step
from npuflow.schedule.nest.nest import Allocate, BufferInfo, Kernel, Loop, Statement, walk
from npuflow.schedule.project.rings import Rings
from npuflow.schedule.project.routes import EngineKey, Routes


def turning_body(loop: Loop) -> list[Statement]:
    """The statements that a loop in time repeats on a core."""
    body = loop.body
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].grid:
        body = body[0].body
    return body


def second_part(body: Sequence[Statement], key: EngineKey, routes: Routes, rings: Rings) -> int | None:
    """The place in a body from which on an engine works on what others made of its first part; None if it may not.

    What both parts, or several engines, touch must have slots of its own for each turn, two at least.
    """
    engines = [_computing(statement, routes) for statement in body]
    if any(len(its) > 1 for its in engines):
        return None
    split = _splits(engines)
    if key not in split:
        return None
    inside = {statement.buffer for statement in body if isinstance(statement, Allocate)}
    users: dict[BufferInfo, set[tuple[EngineKey, bool]]] = {}
    for place, statement in enumerate(body):
        for buffer, engine in _touched(statement, routes):
            users.setdefault(buffer, set()).add((engine, engine in split and place >= split[engine]))
    shared = [buffer for buffer, parts in users.items() if len(parts) > 1]
    if any(buffer not in inside or rings.depth(buffer) < 2 for buffer in shared):
        return None
    return split[key]


def _splits(engines: Sequence[set[EngineKey]]) -> dict[EngineKey, int]:
    """Where each engine works again for the first time after another one has worked behind it."""
    seen: set[EngineKey] = set()
    passed: set[EngineKey] = set()
    found: dict[EngineKey, int] = {}
    for place, its in enumerate(engines):
        for engine in its:
            if engine in passed:
                found.setdefault(engine, place)
            passed |= seen - {engine}
            seen.add(engine)
    return found


def _computing(statement: Statement, routes: Routes) -> set[EngineKey]:
    return {routes.engine_of(inner) for inner, _ in walk([statement]) if isinstance(inner, Kernel)}


def _touched(statement: Statement, routes: Routes) -> Iterator[tuple[BufferInfo, EngineKey]]:
    for inner, _ in walk([statement]):
        if isinstance(inner, Kernel):
            yield from ((buffer, routes.engine_of(inner)) for buffer in (*inner.reads, *inner.writes))


def skewed(loop: Loop, first: Sequence[Step], second: Sequence[Step]) -> list[Step]:
    """A loop of two parts, the second of which is always one turn behind."""
    counter, last = loop.counter, loop.trips - 1
    ahead = _in_turn(first, counter, Affine.counter(counter, constant=1))
    steady = Repeat(counter, last, (*ahead, *second))
    return [
        *_in_turn(first, counter, Affine()),
        *([steady] if last else []),
        *_in_turn(second, counter, Affine(last)),
    ]


def _in_turn(steps: Sequence[Step], counter: str, turn: Affine) -> list[Step]:
    return [substitute_step(step, {counter: turn}) for step in steps]
