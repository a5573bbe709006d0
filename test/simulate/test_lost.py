"""What is overwritten unread is a fault, unless nobody reads any of it in the whole run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npuflow.simulate.faults import faults
from npuflow.simulate.program import (
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatEngine,
    FlatLoop,
    FlatMemory,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStream,
    Program,
)
from npuflow.simulate.results import HazardKind
from npuflow.simulate.run import execute


def stepped_over(first_read: int) -> Program:
    """Two turns of four rows of four pixels: 0 and 3 come from one engine, 1 and 2 from another, two are read."""
    ends = FlatAccess("tile", (4, 2), (4, 3), 4)
    middle = FlatAccess("tile", (4, 2), (4, 1), 4, FlatAffine(1))
    read = FlatAccess("tile", (4, 2), (4, 3 - 2 * first_read), 4, FlatAffine(first_read))
    source = FlatAccess("x", (8,), (1,), 4)
    room, full = FlatAcquire("room"), FlatRelease("full")
    return Program(
        (
            FlatEngine("out a", (FlatLoop(2, (FlatSend("a", source),)),)),
            FlatEngine("out b", (FlatLoop(2, (FlatSend("b", source),)),)),
            FlatEngine("in", (FlatLoop(2, (room, FlatReceive("a", ends), FlatReceive("b", middle), full)),)),
            FlatEngine("on", (FlatLoop(2, (FlatAcquire("full"), FlatSend("c", read), FlatRelease("room"))),)),
            FlatEngine("end", (FlatLoop(2, (FlatReceive("c", FlatAccess("y", (8,), (1,), 4, FlatAffine(0, (8,)))),)),)),
        ),
        memories=(FlatMemory("x", 3, 32), FlatMemory("tile", 2, 64), FlatMemory("y", 3, 64)),
        buffers=(FlatBuffer("x", "x", 32), FlatBuffer("tile", "tile", 64), FlatBuffer("y", "y", 64)),
        streams=(FlatStream("a", "out a", ("in",)), FlatStream("b", "out b", ("in",)), FlatStream("c", "on", ("end",))),
        semaphores=(FlatSemaphore("room", 1, 1), FlatSemaphore("full", 0, 1)),
    )


@pytest.mark.parametrize("first_read", [0, 1])
def test_what_a_reader_steps_over_may_be_lost(first_read: int) -> None:
    run = execute(stepped_over(first_read), {"x": np.arange(8, dtype=np.int32)}, {})
    assert [hazard.kind for hazard in run.results.hazards] == [HazardKind.LOST]
    assert faults(run.results) == []


def test_what_somebody_reads_later_may_not() -> None:
    """Both turns fill the tile before anybody reads it: the first one's pixels are lost, and were wanted."""
    program = stepped_over(0)
    late = FlatEngine("on", (FlatAcquire("full", 2), FlatSend("c", FlatAccess("tile", (16,), (1,), 4))))
    end = FlatEngine("end", (FlatReceive("c", FlatAccess("y", (16,), (1,), 4)),))
    others = {"on": late, "end": end}
    program = replace(
        program,
        engines=tuple(others.get(engine.name, engine) for engine in program.engines),
        semaphores=(FlatSemaphore("room", 2, 2), FlatSemaphore("full", 0, 2)),
    )
    found = faults(execute(program, {"x": np.arange(8, dtype=np.int32)}, {}).results)
    assert [hazard.kind for hazard in found] == [HazardKind.LOST] * 2
