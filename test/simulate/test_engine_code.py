"""Engines are encoded once each, and linked into programs that have numbers of their own for what they name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npuflow.errors import InputError
from npuflow.simulate.engine_code import code_of
from npuflow.simulate.program import (
    Cause,
    FlatAcquire,
    FlatBuffer,
    FlatCompute,
    FlatEngine,
    FlatLoop,
    FlatMemory,
    FlatOperand,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStream,
    Program,
    Resource,
    contiguous,
)
from npuflow.simulate.run import simulate

TILE = contiguous("tile", (16, 16), 2)
ROUND = (
    FlatAcquire("empty"),
    FlatReceive("wire", TILE),
    FlatRelease("full"),
)
PROGRAM = Program(
    engines=(
        FlatEngine(
            "out",
            (FlatLoop(4, (FlatSend("wire", contiguous("source", (16, 16), 2)),)),),
            ports=("dram",),
            bytes_per_cycle=100.0,
        ),
        FlatEngine("in", (FlatLoop(4, ROUND),), start_cycles=3, bytes_per_cycle=100.0),
        FlatEngine(
            "core",
            (
                FlatLoop(
                    4, (FlatAcquire("full"), FlatCompute("matmul", 50, (FlatOperand(TILE),)), FlatRelease("empty"))
                ),
                FlatCompute("cast", 7),
            ),
        ),
    ),
    memories=(FlatMemory("l1", 1, 1024), FlatMemory("l3", 3, 1024)),
    buffers=(FlatBuffer("tile", "l1", 512), FlatBuffer("source", "l3", 512)),
    semaphores=(FlatSemaphore("empty", 1, 1, Cause.SPACE), FlatSemaphore("full", 0, 1, Cause.DATA)),
    resources=(Resource("unused", 1.0), Resource("dram", 2.0)),
    streams=(FlatStream("wire", "out", ("in",)),),
)


def test_an_engine_means_what_its_program_has_of_a_name() -> None:
    before = simulate(PROGRAM)
    others = {name: (*reversed(getattr(PROGRAM, name)),) for name in ("memories", "buffers", "semaphores", "resources")}
    renumbered = simulate(replace(PROGRAM, **others, engines=(*reversed(PROGRAM.engines),)))
    assert renumbered.cycles == before.cycles
    assert renumbered.traffic == before.traffic
    assert renumbered.semaphore_waits == before.semaphore_waits
    faster = replace(PROGRAM, resources=(Resource("unused", 1.0), Resource("dram", 4.0)))
    assert simulate(faster).cycles < before.cycles


def test_steps_are_told_apart_by_engines() -> None:
    trace = simulate(PROGRAM, trace=True).trace
    assert trace is not None
    assert {(event.engine, event.step) for event in trace.events() if event.kind != "acquire"} == {
        ("out", "send wire"),
        ("in", "receive wire"),
        ("core", "matmul"),
        ("core", "cast"),
    }


def test_an_engine_is_encoded_once() -> None:
    engine = replace(PROGRAM.engines[2], start_cycles=1)
    code = code_of(engine)
    assert code_of(engine) is code
    assert code_of(replace(engine)) is not code


def test_what_is_named_and_not_there_is_said_of_the_first_step_that_names_it() -> None:
    without = replace(PROGRAM, semaphores=PROGRAM.semaphores[:1], resources=(), streams=(), buffers=())
    with pytest.raises(InputError) as refused:
        simulate(without)
    said = [diagnostic.message for diagnostic in refused.value.diagnostics]
    assert len(said) == 8
    assert said[0].startswith("'send wire' of engine 'out': unknown buffer 'source'")
    assert any(one.startswith("engine 'out': unknown resource 'dram'") for one in said)
    assert any(one.startswith("'release full' of engine 'in': unknown semaphore 'full'") for one in said)
    assert any(one.startswith("'acquire full' of engine 'core': unknown semaphore 'full'") for one in said)
