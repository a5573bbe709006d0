"""Which locks lie in which memory. Pure.

A lock lies in the memory beside which the engines stand that use it; a task's semaphores are places in a queue, not
locks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from npuflow.schedule.data import model
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.channels import Memory, memory_at
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import placed_steps
from npuflow.target import Place

Coordinates = tuple[int, ...]
Extents = tuple[tuple[str, int], ...]


def lock_users(schedule: Schedule) -> Mapping[str, Mapping[Memory, tuple[Coordinates, ...]]]:
    """Of every semaphore that is locks, the coordinates of those in each memory, in order; by first use."""
    found: dict[str, dict[Memory, set[Coordinates]]] = defaultdict(lambda: defaultdict(set))
    for engine in schedule.engines.values():
        uses = dict.fromkeys(
            (placed.step.semaphore, tuple(placed.coordinates))
            for placed in placed_steps(engine, schedule.extents)
            if isinstance(placed.step, (model.Acquire, model.Release))
            and schedule.semaphores[placed.step.semaphore.name].cause != "task"
        )
        place, extents = engine.stage.place, tuple(schedule.extents.items())
        for semaphore, coordinates in uses if place is not None else ():
            for memory, its in _places(place, engine.span, coordinates, semaphore.at, extents).items():
                found[semaphore.name][memory] |= its
    return {
        name: {memory: tuple(sorted(places)) for memory, places in memories.items()} for name, memories in found.items()
    }


@lru_cache(maxsize=1024)
def _places(
    place: Place, span: model.Coordinates, through: model.Coordinates, at: tuple[Affine, ...], extents: Extents
) -> Mapping[Memory, frozenset[Coordinates]]:
    """Which of like semaphores the engines of a span reach, going `through` coordinates, by the engines' memories."""
    found: dict[Memory, set[Coordinates]] = defaultdict(set)
    schedule = Schedule("", dict(extents))
    for one in schedule.places(through):
        memory = memory_at(place, {name: one[name] for name in span}, schedule)
        found[memory].add(tuple(i.constant + sum(c * one.get(name, 0) for name, c in i.terms) for i in at))
    return {memory: frozenset(places) for memory, places in found.items()}
