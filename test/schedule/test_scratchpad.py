"""A machine of another shape: one scratchpad, a matrix and a vector engine, two DMA ports, neither L2 nor cores.

A schedule by hand for it is numbered, checked, timed and executed by what does so for arrays of cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from npuflow.schedule.assign.assign_numbers import numbered
from npuflow.schedule.ir.read_schedule import read_schedule, schedules_of
from npuflow.simulate.flatten import flatten
from npuflow.simulate.kernel_functions import compile_schedule_kernels
from npuflow.simulate.run import execute, simulate
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent))

from hand_written import changed, errors, parsed

DEVICE = load_device("toy-scratchpad")
TEXT = (Path(__file__).parent / "scratchpad.mlir").read_text()


def test_it_is_right() -> None:
    assert errors(TEXT) == []


def test_its_engines_are_the_devices() -> None:
    (op,) = schedules_of(parsed(TEXT).operation)
    names = [engine.name for engine in flatten(read_schedule(op, DEVICE), DEVICE).engines]
    assert names == [
        *("port dma 0 out 0", "scratchpad dma 0 in 0", "port dma 0 out 1", "scratchpad dma 0 in 1"),
        *("matrix (0,0)", "vector (0,0)", "scratchpad dma 0 out 0", "port dma 0 in 0"),
    ]


def test_what_nobody_says_is_assigned() -> None:
    (op,) = schedules_of(parsed(TEXT).operation)
    whole = numbered(read_schedule(op, DEVICE), DEVICE)
    assert {name: engine.channels for name, engine in whole.engines.items() if engine.channels} == {
        "port_out_a": (0,),
        "port_out_b": (1,),
        "port_in": (0,),
        "scratchpad_in_a": (0,),
        "scratchpad_in_b": (1,),
        "scratchpad_out": (0,),
    }
    # Two for each of four buffers, all in one memory.
    assert [lock for semaphore in whole.semaphores.values() for lock in semaphore.locks] == list(range(8))


def test_its_time_is_what_paper_says() -> None:
    # A step of K brings 256 bytes of A and of B side by side, 4 a cycle each: 64 cycles, in which sums have been set to
    # zero. Then the matrix engine is the slowest: four steps of 100 cycles, the next sums to zero (10), and four
    # more steps. Of the first block all else is done meanwhile: relu (50), and 1024 bytes of results at 4 a cycle.
    (op,) = schedules_of(parsed(TEXT).operation)
    results = simulate(flatten(read_schedule(op, DEVICE), DEVICE))
    assert results.cycles == 64 + 4 * 100 + 10 + 4 * 100 + 50 + 1024 // 4


def test_it_computes() -> None:
    (op,) = schedules_of((module := parsed(TEXT)).operation)
    assert module.operation.verify()
    draw = np.random.default_rng(0)
    a, b = draw.integers(-9, 9, (16, 64), np.int8), draw.integers(-9, 9, (64, 32), np.int8)
    program = flatten(read_schedule(op, DEVICE), DEVICE)
    executed = execute(program, {"a": a, "b": b}, compile_schedule_kernels(op, program))
    expected = np.maximum(a.astype(np.int32) @ b.astype(np.int32), 0)
    np.testing.assert_array_equal(executed.memories["c"].view(np.int32).reshape(16, 32), expected)
    assert executed.results.hazards == ()


BUFFER = 'sym_name = "a1", role = "internal", level = 1 : i64, contents = memref<4x2x4x8xi8, 2>, depth = '
WRONG = {
    "a stage of another machine": (
        changed(('stage = "vector"', 'stage = "core"'), text=TEXT),
        "unknown stage 'core'; hint: ",
    ),
    "a level that it lacks": (
        changed((BUFFER, BUFFER.replace("1 : i64", "2 : i64").replace("xi8, 2>", "xi8, 1>")), text=TEXT),
        "buffer 'a1' is in level 2, which device 'toy-scratchpad' lacks; hint: it has 1, 3",
    ),
    "a kernel on the wrong engine": (
        changed(('npu.class = "vector"', 'npu.class = "matrix"'), text=TEXT),
        "'vector' calls 'relu', which is for engines of class 'matrix'; hint: let stage matrix call it",
    ),
    "a third lane": (
        changed(("lane = 1", "lane = 2"), text=TEXT),
        "port needs 3 out-channels for 'port_out_b', has 2",
    ),
    "two in one lane": (
        changed(("lane = 1", "lane = 0"), text=TEXT),
        "in-channel 0 of scratchpad is both 'scratchpad_in_a' and 'scratchpad_in_b'",
    ),
    "more than the scratchpad holds": (
        changed((BUFFER + "2", BUFFER + "64"), text=TEXT),
        "overlap in scratchpad; hint: move one of them",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_cannot_do_is_refused(name: str) -> None:
    text, expected = WRONG[name]
    found = errors(text)
    assert any(expected in message for message in found), "\n".join(found)
