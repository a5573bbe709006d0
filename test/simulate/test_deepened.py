"""Buffers with more slots: who fills them can be further ahead, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npuflow.simulate.deepened import deepened, fillings
from npuflow.simulate.prefetch import FirstFills
from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatControl,
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
from npuflow.simulate.run import cycles_of_run

SIZE, TURNS = 1024, 6


def access(buffer: str, slot: FlatAffine) -> FlatAccess:
    return FlatAccess(buffer, (SIZE,), (1,), 1, FlatAffine(0), slot)


def ring(depth: int, readers: int = 1) -> Program:
    """A sender that fills a ring of slots, and slower ones each of which empties them."""
    turn, first, each = FlatAffine(0, (1,)), FlatAffine(0, (0,)), range(readers)
    there, on = access("ring", turn), access("left", first)
    takes, gives = [FlatAcquire(f"empty{n}") for n in each], [FlatRelease(f"full{n}") for n in each]
    engines = (
        FlatEngine("from", (FlatLoop(TURNS, (FlatSend("in", access("source", first)),)),), bytes_per_cycle=4),
        FlatEngine("into", (FlatLoop(TURNS, (*takes, FlatReceive("in", there), *gives)),), bytes_per_cycle=4),
        *(
            FlatEngine(
                f"out{n}",
                (FlatLoop(TURNS, (FlatAcquire(f"full{n}"), FlatSend(f"out{n}", there), FlatRelease(f"empty{n}"))),),
                bytes_per_cycle=1,
            )
            for n in each
        ),
        *(FlatEngine(f"to{n}", (FlatLoop(TURNS, (FlatReceive(f"out{n}", on),)),), bytes_per_cycle=1) for n in each),
    )
    return Program(
        engines=engines,
        memories=(FlatMemory("source", 3, SIZE), FlatMemory("L2", 2, depth * SIZE), FlatMemory("L1", 1, SIZE)),
        buffers=(
            FlatBuffer("source", "source", SIZE),
            FlatBuffer("ring", "L2", SIZE, depth=depth),
            FlatBuffer("left", "L1", SIZE),
        ),
        semaphores=(
            *(FlatSemaphore(f"empty{n}", depth, depth, Cause.SPACE) for n in each),
            *(FlatSemaphore(f"full{n}", 0, depth, Cause.DATA) for n in each),
        ),
        streams=(
            FlatStream("in", "from", ("into",)),
            *(FlatStream(f"out{n}", f"out{n}", (f"to{n}",)) for n in each),
        ),
    )


def sent_by_tasks(program: Program) -> Program:
    """The same with a control processor that hands out each of what the first one sends."""
    sends, *others = program.engines
    send = FlatSend("in", access("source", FlatAffine(0, (0,))))
    tasks = FlatLoop(TURNS, (FlatAcquire("task"), send, FlatRelease("queue")))
    hands_out = FlatLoop(TURNS, (FlatAcquire("queue"), FlatControl(100, "task"), FlatRelease("task")))
    control = FlatEngine("control", (hands_out,), kind="control")
    queue = FlatSemaphore("queue", 1, 1, Cause.SPACE), FlatSemaphore("task", 0, 1, Cause.DATA)
    engines = (replace(sends, body=(tasks,)), *others, control)
    return replace(program, engines=engines, semaphores=(*program.semaphores, *queue))


@pytest.mark.parametrize("readers", [1, 2])
def test_it_is_the_same_as_a_ring_of_so_many_slots(readers: int) -> None:
    for depth in (2, 4):
        found, right = deepened(ring(1, readers), {"ring": depth}), ring(depth, readers)
        assert found.buffers == right.buffers
        assert {one.name: one.initial for one in found.semaphores} == {
            one.name: one.initial for one in right.semaphores
        }
        assert cycles_of_run(found) == cycles_of_run(right) < cycles_of_run(ring(1, readers))


def test_fewer_slots_than_there_are_change_nothing() -> None:
    assert deepened(ring(4), {"ring": 2}) == ring(4)


def test_what_fills_a_buffer_is_between_empty_slots_and_full_ones() -> None:
    (found,) = (filling for engine in ring(2, 2).engines for filling in fillings(engine.body))
    assert [one.semaphore for one in found.takes] == ["empty0", "empty1"]
    assert found.step.access.buffer == "ring"
    assert [one.semaphore for one in found.gives] == ["full0", "full1"]


def test_what_is_handed_over_with_others_is_no_filling() -> None:
    moves = [FlatReceive(name, access(name, FlatAffine(0))) for name in ("a", "b")]
    body = (FlatAcquire("empty"), *moves, FlatRelease("full"))
    assert not list(fillings(body))


def test_what_comes_ahead_fills_a_slot_of_each_who_empties_it() -> None:
    """Rows of cores that are emptied into one by one have semaphores of their own."""
    fills = FirstFills(sent_by_tasks(ring(1, 2)), "source", ["L2"])
    first, program = fills.found()
    begins = {one.name: one.initial for one in program.semaphores}
    assert first.moved_bytes == SIZE
    assert [begins[name] for name in ("empty0", "empty1", "full0", "full1")] == [0, 0, 1, 1]
    assert cycles_of_run(program) < cycles_of_run(sent_by_tasks(ring(1, 2)))
