"""Buffers with more slots: who fills them can be further ahead, and nothing else changes."""

from __future__ import annotations

from npuflow.simulate.deepened import deepened, fillings
from npuflow.simulate.program import (
    Cause,
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
from npuflow.simulate.run import cycles_of_run

SIZE, TURNS = 1024, 6


def access(buffer: str, slot: FlatAffine) -> FlatAccess:
    return FlatAccess(buffer, (SIZE,), (1,), 1, FlatAffine(0), slot)


def ring(depth: int) -> Program:
    """A sender that fills a ring of slots, and a second, slower one that empties them."""
    turn, first = FlatAffine(0, (1,)), FlatAffine(0, (0,))
    there, on = access("ring", turn), access("left", first)
    engines = (
        FlatEngine("from", (FlatLoop(TURNS, (FlatSend("in", access("source", first)),)),), bytes_per_cycle=4),
        FlatEngine(
            "into",
            (FlatLoop(TURNS, (FlatAcquire("empty"), FlatReceive("in", there), FlatRelease("full"))),),
            bytes_per_cycle=4,
        ),
        FlatEngine(
            "out",
            (FlatLoop(TURNS, (FlatAcquire("full"), FlatSend("out", there), FlatRelease("empty"))),),
            bytes_per_cycle=1,
        ),
        FlatEngine("to", (FlatLoop(TURNS, (FlatReceive("out", on),)),), bytes_per_cycle=1),
    )
    return Program(
        engines=engines,
        memories=(FlatMemory("L3", 3, SIZE), FlatMemory("L2", 2, depth * SIZE), FlatMemory("L1", 1, SIZE)),
        buffers=(
            FlatBuffer("source", "L3", SIZE),
            FlatBuffer("ring", "L2", SIZE, depth=depth),
            FlatBuffer("left", "L1", SIZE),
        ),
        semaphores=(
            FlatSemaphore("empty", depth, depth, Cause.SPACE),
            FlatSemaphore("full", 0, depth, Cause.DATA),
        ),
        streams=(FlatStream("in", "from", ("into",)), FlatStream("out", "out", ("to",))),
    )


def test_it_is_the_same_as_a_ring_of_so_many_slots() -> None:
    for depth in (2, 4):
        found, right = deepened(ring(1), {"ring": depth}), ring(depth)
        assert found.buffers == right.buffers
        assert {one.name: one.initial for one in found.semaphores} == {
            one.name: one.initial for one in right.semaphores
        }
        assert cycles_of_run(found) == cycles_of_run(right) < cycles_of_run(ring(1))


def test_fewer_slots_than_there_are_change_nothing() -> None:
    assert deepened(ring(4), {"ring": 2}) == ring(4)


def test_what_fills_a_buffer_is_between_an_empty_slot_and_a_full_one() -> None:
    found = [(a.semaphore, step.access.buffer, r.semaphore) for e in ring(2).engines for a, step, r in fillings(e.body)]
    assert found == [("empty", "ring", "full")]
