"""Programs whose first tasks are set up before they begin: which ones, and what their descriptors leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import npuflow
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.network.set_up import TaskWrites, Waiting
from npuflow.simulate.faults import faults
from npuflow.simulate.program import (
    Cause,
    FlatAcquire,
    FlatControl,
    FlatEngine,
    FlatLoop,
    FlatRelease,
    FlatSemaphore,
    FlatStep,
    Program,
)
from npuflow.simulate.run import simulate
from npuflow.simulate.tasks_ahead import descriptors_left, set_ahead
from npuflow.target import load_device

NPU2 = load_device("npu2")
# Cycles of a descriptor, and of starting one that is there.
EACH, START = 1566, 162
SECONDS = 0.87e-6


def handed(number: int, cycles: int = EACH) -> tuple[FlatStep, ...]:
    """A task for one of the channels, which are in columns of their own."""
    return FlatAcquire(f"room{number}"), FlatControl(cycles), FlatRelease(f"task{number}")


def program(*control: FlatStep, channels: int = 2, depth: int = 4) -> Program:
    """The control processor's steps behind a launch, and channels that take tasks for ever."""
    shims = tuple(
        FlatEngine(f"shim dma {n} out 0", (FlatAcquire(f"task{n}"), FlatRelease(f"room{n}")), "shim dma out", (0, n))
        for n in range(channels)
    )
    semaphores = [
        FlatSemaphore(f"{what}{n}", start, depth, Cause.TASK)
        for n in range(channels)
        for what, start in (("room", depth), ("task", 0))
    ]
    return Program((FlatEngine("control", (FlatControl(1), *control), "control"), *shims), semaphores=tuple(semaphores))


def steps(found: Program) -> tuple[FlatStep, ...]:
    return found.engines[0].body


def starts(number: int) -> tuple[FlatStep, ...]:
    room, _, task = handed(number)
    return room, FlatControl(START, "start"), task


def test_the_first_tasks_are_started_as_far_as_there_is_time() -> None:
    two = program(*handed(0), *handed(1), *handed(0))
    found = set_ahead(two, NPU2, Waiting(2.5 * SECONDS, descriptors={0: 16, 1: 16}))
    assert steps(found.program) == (FlatControl(1), *starts(0), *starts(1), *handed(0))
    assert (found.tasks, found.writes) == (("task0", "task1"), TaskWrites(2, 2 * SECONDS, {0: 1, 1: 1}))
    # What is left is what the channels need: two and one.
    assert (found.left[0], found.left[1], found.left[2]) == (14, 15, 16)
    assert set_ahead(two, NPU2, Waiting(0.5 * SECONDS, descriptors={0: 16, 1: 16})).program is two


def test_tasks_without_free_descriptors_are_set_up_in_their_phase() -> None:
    two = program(*handed(0), *handed(1), *handed(0), *handed(1))
    found = set_ahead(two, NPU2, Waiting(1.0, descriptors={0: 1, 1: 2}))
    assert steps(found.program) == (FlatControl(1), *starts(0), *starts(1), *handed(0), *starts(1))
    assert set_ahead(two, NPU2, Waiting(1.0, descriptors={})).program is two


def test_loops_are_begun_and_left_where_descriptors_end() -> None:
    # A queue of 4, and 6 descriptors that nobody else needs: all of these hold tasks, so that 10 are left, not 12.
    loop = FlatLoop(100, handed(0))
    found = set_ahead(program(loop), NPU2, Waiting(1.0, descriptors={0: 6}))
    assert steps(found.program) == (FlatControl(1), *starts(0) * 6, FlatLoop(94, handed(0)))
    assert descriptors_left(program(loop), NPU2)[0] == 12
    assert found.left[0] == 10
    # No more than there are beside what other channels of the shim need for their queues.
    both = program(*handed(1), loop)
    other = replace(both, engines=tuple(replace(one, tile=(0, 0)) for one in both.engines))
    found = set_ahead(other, NPU2, Waiting(1.0, descriptors={0: 16}))
    assert (found.tasks.count("task1"), found.tasks.count("task0")) == (1, 15)


def test_packets_bring_all_tasks_of_a_shim_at_once() -> None:
    # Two descriptors of 32 bytes each as packets, 0.7 us and what they take at 4.4 GB/s, or 0.87 us one by one.
    packets, word = NPU2.control.packet_seconds, 32 / NPU2.control.packet_bytes_per_second
    twice = program(*handed(0), *handed(0), *handed(1))
    before = Waiting(1.0, frozenset({0}), descriptors={0: 16, 1: 16})
    assert set_ahead(twice, NPU2, before).writes.seconds == pytest.approx(packets + 2 * word + SECONDS)
    # Where packets go to that shim anyway, only their bytes.
    reached = replace(before, reached=frozenset({0}))
    assert set_ahead(twice, NPU2, reached).writes.seconds == pytest.approx(2 * word + SECONDS)
    # The task that brings packets takes a descriptor as well.
    assert set_ahead(twice, NPU2, replace(before, descriptors={0: 2})).tasks == ("task0",)


def test_nothing_behind_a_wait_is_set_up() -> None:
    waits = program(*handed(0), FlatAcquire("room1"), FlatRelease("room1"), FlatControl(1), *handed(0))
    assert set_ahead(waits, NPU2, Waiting(1.0, descriptors={0: 16, 1: 16})).tasks == ("task0",)


def test_a_device_whose_tasks_take_no_time_sets_none_up() -> None:
    free = replace(NPU2, control=replace(NPU2.control, descriptor_seconds=0.0))
    assert set_ahead(program(*handed(0)), free, Waiting(1.0, descriptors={0: 16})).tasks == ()


@pytest.fixture(scope="module")
def matmul() -> CompiledFunction:
    text = """
    func.func @f(%x: tensor<128x64xi8>, %w: tensor<64x256xi8>) -> tensor<128x256xi32> {
      %zero = arith.constant 0 : i32
      %empty = tensor.empty() : tensor<128x256xi32>
      %sums = linalg.fill ins(%zero : i32) outs(%empty : tensor<128x256xi32>) -> tensor<128x256xi32>
      %r = linalg.matmul ins(%x, %w : tensor<128x64xi8>, tensor<64x256xi8>) outs(%sums : tensor<128x256xi32>)
          -> tensor<128x256xi32>
      return %r : tensor<128x256xi32>
    }
    """
    return npuflow.compile(text, device="npu2")["f"].compiled


def test_the_control_processor_does_less_and_results_are_the_same(matmul: CompiledFunction) -> None:
    found = set_ahead(matmul.program, NPU2, Waiting(1.0, descriptors=dict.fromkeys(range(8), 16)))
    before, after = simulate(matmul.program), simulate(found.program)
    busy = [run.engine("control").busy_cycles for run in (before, after)]
    assert busy[0] - busy[1] == found.writes.descriptors * (EACH - START) > 0
    assert after.cycles < before.cycles
    begun = matmul.begun(found)
    assert begun.descriptors_left == found.left
    assert begun.away().program == matmul.program
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, spec.shape).astype(np.int8) for spec in matmul.signature.inputs]
    run = execute_function(begun, inputs)
    assert not list(faults(run.results))
    np.testing.assert_array_equal(run.outputs[0], inputs[0].astype(np.int32) @ inputs[1].astype(np.int32))
