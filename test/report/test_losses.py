"""What runs without a cost show, on the toy device, whose numbers are round."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from matmuls import SMALL, TILES, matmul, small

import npuflow
from npuflow.compiler.compiled import Function
from npuflow.report.losses import measure_losses, with_second_slots, without_compute, without_control, without_dram
from npuflow.report.measures import Bottleneck
from npuflow.schedule.ir.read_schedule import read_schedule, schedules_of
from npuflow.simulate.flatten import flatten
from npuflow.simulate.program import Program
from npuflow.simulate.run import simulate
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parents[1] / "schedule"))

from hand_written import changed, parsed


def losses_of(function: Function) -> dict[str, float]:
    """Saved cycles by cost; a cycle of the toy is a nanosecond."""
    found = measure_losses(function.compiled, function.simulate(), function.macs)
    return {loss.name: loss.saved_us * 1000 for loss in found.losses}


def test_the_launch_costs_what_the_device_says() -> None:
    # Until it is over only fills of 16x16 run, 32 cycles each, which the first transfer outlasts.
    assert losses_of(small())["launch"] == pytest.approx(1000)


def test_costs_that_the_device_does_not_have_are_no_losses() -> None:
    # The toy has no run overheads, no transfer start-up and no cost of a call.
    assert {"dram-runs", "transfer-starts", "kernel-calls"}.isdisjoint(losses_of(small()))


def test_every_loss_saves_something_and_no_more_than_there_is() -> None:
    function = small(device="npu2")
    cycles = function.simulate().cycles
    found = measure_losses(function.compiled, function.simulate(), function.macs)
    assert found.losses
    for loss in found.losses:
        assert 0 < loss.saved_us <= cycles / 1.8e9 * 1e6
    assert list(found.losses) == sorted(found.losses, key=lambda loss: -loss.saved_us)


@pytest.mark.parametrize("depths", [(1, 1), (1, 2), (2, 1)])
def test_second_slots_make_a_single_buffered_program_the_double_buffered_one(depths: tuple[int, int]) -> None:
    strategy = f"npu.strategy = #npu.strategy<{{depth_l1 = {depths[0]} : i64, depth_l2 = {depths[1]} : i64}}>"
    source = SMALL.replace("linalg.matmul ins", f"linalg.matmul {{{strategy}}} ins")
    single = npuflow.compile(source, f"npuflow-stream-k{TILES}", device="toy").functions[0].compiled.program
    double = small().compiled.program
    assert simulate(single).cycles > simulate(double).cycles
    assert simulate(with_second_slots(single)).cycles == simulate(with_second_slots(double)).cycles


def hand_written(text: str) -> Program:
    module, toy = parsed(text), load_device("toy")
    (schedule,) = schedules_of(module.operation)
    return flatten(read_schedule(schedule, toy), toy)


@pytest.mark.parametrize("largest", [1, 63])
def test_second_slots_go_to_buffers_by_hand_whatever_their_semaphores_are_called(largest: int) -> None:
    names = (("x1_full", "came"), ("x1_empty", "left"))
    span = 'span = ["row", "column"], '
    double = changed(*names)
    single = changed(
        *(
            (f'"{name}", {span}{two}', f'"{name}", {span}{one}')
            for name, two, one in (
                ("came", "initial = 0 : i64, maximum = 2", f"initial = 0 : i64, maximum = {largest}"),
                ("left", "initial = 2 : i64, maximum = 2", f"initial = 1 : i64, maximum = {largest}"),
            )
        ),
        (
            f"level = 1 : i64, {span}depth = 2 : i64, address = affine_map<(d0, d1) -> (0)>",
            f"level = 1 : i64, {span}depth = 1 : i64, address = affine_map<(d0, d1) -> (0)>",
        ),
        text=double,
    )
    # One tile of 100 cycles waits for the next one's 64 on their way.
    assert simulate(hand_written(single)).cycles > simulate(hand_written(double)).cycles
    assert simulate(with_second_slots(hand_written(single))).cycles == simulate(hand_written(double)).cycles


def test_without_control_dram_and_compute_the_dma_channels_are_left() -> None:
    program = without_control(without_dram(without_compute(small().compiled.program)))
    # A is read for both columns of blocks, 16 KiB; each of two shim channels of 4 bytes a cycle brings half of it.
    assert simulate(program).cycles >= 16 * 1024 // 2 // 4
    assert simulate(program).cycles < simulate(small().compiled.program).cycles


def test_padding_is_a_loss_of_its_own() -> None:
    padded = npuflow.compile(matmul(33, 64, 128), f"npuflow-stream-k{TILES}", device="toy")
    assert "padding" in losses_of(padded.functions[0])
    assert "padding" not in losses_of(small())


def test_idle_cores_are_a_loss_of_their_own() -> None:
    assert "idle-cores" in losses_of(small("{grid=1,1 tile-l2=32,32,64 tile-l1=32,32,32}"))
    assert "idle-cores" not in losses_of(small())


def test_slow_kernels_make_a_function_bound_by_compute() -> None:
    slow = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device="toy", kernel_macs_per_cycle=0.25).functions[0]
    assert measure_losses(slow.compiled, slow.simulate(), slow.macs).bound_by is Bottleneck.COMPUTE
    fast = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device="toy", kernel_macs_per_cycle=1e6).functions[0]
    assert measure_losses(fast.compiled, fast.simulate(), fast.macs).bound_by is not Bottleneck.COMPUTE
