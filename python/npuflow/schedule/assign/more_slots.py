"""A schedule whose buffers have more slots, with descriptors for these. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from npuflow.schedule.data import model
from npuflow.schedule.data.model import Schedule


def with_slots(schedule: Schedule, depths: Mapping[str, int]) -> Schedule:
    """The schedule with so many slots in some buffers, by name; who moves these is yet to be given descriptors."""
    if not depths:
        return schedule
    buffers = {name: replace(one, depth=depths.get(name, one.depth)) for name, one in schedule.buffers.items()}
    engines = {
        name: replace(engine, program=_without(engine.program, depths)) for name, engine in schedule.engines.items()
    }
    return replace(schedule, buffers=buffers, engines=engines)


def _without(steps: tuple[model.Step, ...], depths: Mapping[str, int]) -> tuple[model.Step, ...]:
    """Steps whose transfers of those buffers have no descriptors."""
    found: list[model.Step] = []
    for step in steps:
        match step:
            case model.Repeat(body=body) | model.Each(body=body):
                found.append(replace(step, body=_without(body, depths)))
            case model.Send(access=access) | model.Receive(access=access) if access.buffer.name in depths:
                found.append(replace(step, descriptors=None))
            case _:
                found.append(step)
    return tuple(found)
