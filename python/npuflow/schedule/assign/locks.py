"""Which locks lie in which memory. Pure.

A lock lies in the memory beside which the engines stand that use it; a task's semaphores are places in a queue, not
locks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from npuflow.schedule.data import model
from npuflow.schedule.data.channels import Memory, memory_of
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import placed_steps

Coordinates = tuple[int, ...]


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
        for semaphore, coordinates in uses:
            for place in schedule.places(coordinates):
                memory = memory_of(engine, {name: place[name] for name in engine.span}, schedule)
                at = tuple(i.constant + sum(c * place.get(name, 0) for name, c in i.terms) for i in semaphore.at)
                if memory is not None:
                    found[semaphore.name][memory].add(at)
    return {
        name: {memory: tuple(sorted(places)) for memory, places in memories.items()} for name, memories in found.items()
    }
