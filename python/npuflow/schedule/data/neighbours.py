"""Which like channels move parts of L3 that lie side by side. Pure."""

from __future__ import annotations

from npuflow.schedule.data.model import Access, Engine, Schedule


def adjoining(access: Access, engine: Engine, schedule: Schedule) -> int:
    """How many channels' contiguous runs in L3 make one longer run together: 1 where they lie apart."""
    if not engine.stage.at_dram or len(engine.span) != 1:
        return 1
    (coordinate,) = engine.span
    together = access.offset.coefficient(coordinate) == _run(access)
    return schedule.extents[coordinate] if together else 1


def _run(access: Access) -> int:
    """Elements in a row, before the access jumps."""
    run = 1
    for size, stride in zip(reversed(access.sizes), reversed(access.strides)):
        if size > 1 and stride != run:
            break
        run *= size
    return run
