"""Schedules of the pipelines: compact, the same read back, as many channels either way, and traffic on the byte."""

from __future__ import annotations

from collections import Counter

import pytest
from profiles import spread

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.schedule.build import build_schedule
from npuflow.schedule.check.legality import violations
from npuflow.schedule.data.model import Acquire, Configure, Each, Repeat, Step
from npuflow.schedule.ir.read_kernels import kernel_interfaces
from npuflow.schedule.ir.read_schedule import read_schedule, schedules_of
from npuflow.simulate.flatten import flatten
from npuflow.simulate.program import Program
from npuflow.simulate.run import simulate
from npuflow.target import load_device
from npuflow.testing.programs import MatmulProgram, Tail, Types

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
I32 = Types("i32", "i32")
LARGE = MatmulProgram(1024, 512, 2048, I32)
TILES = "grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8"
MIB = 1 << 20


def bufferized(program: MatmulProgram, pipeline: str) -> ir.Module:
    module = npuflow.parse(program.text(), npuflow.new_context())
    npuflow.run_pipeline(module, pipeline)
    return module


def scheduled(program: MatmulProgram, pipeline: str, device: str) -> ir.Module:
    module = bufferized(program, pipeline)
    npuflow.run_pipeline(module, f"npuflow-project-engines{{device={device}}}")
    return module


def flat_program(pipeline: str) -> Program:
    """The large matmul's program on a 2x2 grid."""
    module = scheduled(LARGE, f"{pipeline}{{device=npu1 {TILES}}}", "npu1")
    (op,) = schedules_of(module.operation)
    device = load_device("npu1")
    return flatten(read_schedule(op, device), device)


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(
    "program", [MatmulProgram(37, 41, 43, I32), MatmulProgram(64, 64, 64, I32, tails=(Tail.BIAS,))], ids=str
)
def test_ir_says_all_that_the_schedule_says(pipeline: str, program: MatmulProgram) -> None:
    device = load_device("toy")
    module = bufferized(program, f"{pipeline}{{device=toy grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16}}")
    with module.context:
        built = build_schedule(ops_of(module.operation, "func.func")[0], device)
    npuflow.run_pipeline(module, "npuflow-project-engines{device=toy}")
    printed = npuflow.parse(str(module), npuflow.new_context())
    (op,) = schedules_of(printed.operation)
    read = read_schedule(op, device)
    assert flatten(read, device) == flatten(built.schedule, device)
    assert (read.arguments, read.results, read.extents) == (
        built.schedule.arguments,
        built.schedule.results,
        built.schedule.extents,
    )


def executed(steps: tuple[Step, ...], name: str) -> Counter[str]:
    """How often the control processor takes room in queues whose names begin so, and sets up a task."""
    found: Counter[str] = Counter()
    for step in steps:
        if isinstance(step, (Repeat, Each)):
            for kind, count in executed(step.body, name).items():
                found[kind] += count * (step.trips if isinstance(step, Repeat) else step.count)
        elif isinstance(step, Configure) or (isinstance(step, Acquire) and step.semaphore.name.startswith(name)):
            found[type(step).__name__] += 1
    return found


@pytest.mark.parametrize("together", [(1, 1), (2, 2), (2, 3), (9, 9)], ids=str)
def test_blocks_set_up_together_are_waited_for_together(together: tuple[int, int]) -> None:
    # 3 x 5 blocks of two columns of cores. Setting up a result takes a place in its queue; a wait takes all of them.
    tiles = "grid=2,2 tile-l2=16,16,16 tile-l1=8,8,16"
    module = bufferized(MatmulProgram(48, 80, 40, I32), f"npuflow-stream-k{{device=toy {tiles}}}")
    with module.context:
        built = build_schedule(ops_of(module.operation, "func.func")[0], load_device("toy"), together=together)
    control = built.schedule.engines["control"]
    found = executed(control.program, "shim_in")
    groups = -(-3 // together[0]) * -(-5 // together[1])
    at_the_end = 1
    places = built.schedule.semaphores["shim_in_room"].initial
    assert found["Acquire"] == 2 * (15 + places * (groups + at_the_end))
    of_a_block = 3 * 2 + 1  # three tiles of K of either operand, the last of which is cut off, and the result
    assert found["Configure"] == 2 * 15 * of_a_block


def op_count(program: MatmulProgram, pipeline: str, device: str) -> int:
    """Ops of the dialect; how many constants there are depends on which trip counts are equal."""
    module = scheduled(program, pipeline, device)
    return sum(op.name.startswith("npu.") for op in ops_of(module.operation))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_ir_does_not_grow_with_sizes(pipeline: str) -> None:
    tiles = "grid=4,4 tile-l2=64,64,128 tile-l1=16,16,32"
    sizes = [(256, 256, 512), (512, 256, 512), (256, 1024, 512), (512, 512, 1024)]
    counts = {op_count(MatmulProgram(*size, I32), f"{pipeline}{{device=npu2 {tiles}}}", "npu2") for size in sizes}
    assert len(counts) == 1


def test_the_ir_does_not_grow_with_the_array() -> None:
    small = op_count(
        MatmulProgram(512, 512, 512, I32),
        "npuflow-stream-k{device=npu1 grid=4,4 tile-l2=64,64,64 tile-l1=16,16,32}",
        "npu1",
    )
    large = op_count(
        MatmulProgram(512, 512, 512, I32),
        "npuflow-stream-k{device=npu2 grid=4,8 tile-l2=64,128,64 tile-l1=16,16,32}",
        "npu2",
    )
    assert small == large


@pytest.mark.parametrize("pipeline", ["npuflow-stream-k", "npuflow-pack-peel"])
def test_traffic_is_what_the_tiles_ask_for(pipeline: str) -> None:
    # A is read once for each of 512 / 64 columns of blocks, B once for each of 1024 / 64 rows; C is written once.
    results = simulate(flat_program(pipeline))
    a, b = (results.traffic[name].read_bytes for name in ("arg0", "arg1"))
    assert (a, b) == (1024 * 2048 * 4 * 8, 2048 * 512 * 4 * 16) == (64 * MIB, 64 * MIB)
    assert results.level_traffic(3).written_bytes == 1024 * 512 * 4 == 2 * MIB


def test_peeling_takes_no_more_channels() -> None:
    engines = [
        [e.name for e in flat_program(pipeline).engines] for pipeline in ("npuflow-stream-k", "npuflow-pack-peel")
    ]
    assert engines[0] == engines[1]


DEVICES = ("toy", "npu1", "npu2", "npu2:4x1", "npu2:4x3")
SIZES = ((4096, 4096, 4096), (1000, 1000, 1000), (256, 8192, 2048), (37, 41, 43))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("types", [Types("i8", "i32"), Types("bf16", "f32"), I32], ids=str)
def test_what_the_pipelines_choose_fits_the_device(device: str, types: Types) -> None:
    target = load_device(device)
    found = []
    for number, pipeline in enumerate(PIPELINES, start=DEVICES.index(device)):
        for size in spread(number, SIZES):
            module = bufferized(MatmulProgram(*size, types), f"{pipeline}{{device={device}}}")
            npuflow.run_pipeline(module, f"npuflow-project-engines{{device={device}}}")
            (op,) = schedules_of(module.operation)
            wrong = violations(read_schedule(op, target), target, kernel_interfaces(op, target))
            found += [f"{pipeline} {size}: {v}" for v in wrong if not v.is_warning]
    assert found == []
