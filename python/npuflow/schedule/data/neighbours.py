"""Which like channels move parts of L3 that lie side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npuflow.schedule.data.model import Access, Each, Engine, Receive, Repeat, Schedule, Send, Step


def adjoining(engine: Engine, schedule: Schedule) -> int:
    """How many channels' contiguous runs in L3 make one longer run together: 1 where they lie apart."""
    if not engine.stage.at_dram or len(engine.span) != 1:
        return 1
    (coordinate,) = engine.span
    moves = list(_accesses(engine.program))
    together = all(access.offset.coefficient(coordinate) == _run(access) for access in moves)
    return schedule.extents[coordinate] if moves and together else 1


def _accesses(steps: Iterable[Step]) -> Iterator[Access]:
    for step in steps:
        if isinstance(step, (Send, Receive)):
            yield step.access
        elif isinstance(step, (Repeat, Each)):
            yield from _accesses(step.body)


def _run(access: Access) -> int:
    """Elements in a row, before the access jumps."""
    run = 1
    for size, stride in zip(reversed(access.sizes), reversed(access.strides)):
        if size > 1 and stride != run:
            break
        run *= size
    return run
