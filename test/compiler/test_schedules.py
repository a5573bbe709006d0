"""Schedules that come as such: what is compiled and what is printed are one program, alone and beside functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.errors import InputError, NpuflowError, UsageError
from npuflow.execute.verification import Status

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "examples" / "two_cores_reference.mlir"
SCHEDULE, PROGRAM = (ROOT / "examples" / "two_cores.mlir").read_text(), REFERENCE.read_text()
OTHER = PROGRAM.replace("@matmul", "@compiled")
OPTIONS = "device=toy grid=1,2 tile-l2=16,32,16 tile-l1=16,16,16"
PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
INSIDE = "module @matmul attributes"


def printed(pipeline: str, source: str = PROGRAM) -> str:
    """What npuflow-opt prints of a program's schedule."""
    module = npuflow.parse(source, npuflow.new_context())
    npuflow.run_pipeline(module, f"{pipeline}{{{OPTIONS}}},npuflow-schedule")
    return str(module)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_printed_schedule_is_the_program_that_is_run(pipeline: str) -> None:
    direct = npuflow.compile(PROGRAM, f"{pipeline}{{{OPTIONS}}}", device="toy").functions[0].compiled
    through = npuflow.compile(PROGRAM, f"{pipeline}{{{OPTIONS}}},npuflow-schedule", device="toy").functions[0].compiled
    again = npuflow.compile(printed(pipeline)).functions[0].compiled
    assert direct.program == through.program == again.program
    assert direct.shapes == again.shapes
    assert direct.modelled == again.modelled


BACK = PROGRAM.replace(
    "-> tensor<16x32xi32> {", "-> (tensor<16x64xi8>, tensor<16x32xi32>, tensor<16x32xi32>) {"
).replace("return %c : tensor<16x32xi32>", "return %a, %c, %c : tensor<16x64xi8>, tensor<16x32xi32>, tensor<16x32xi32>")


def test_an_argument_handed_back_and_a_result_given_twice_are_said_in_the_ir(tmp_path: Path) -> None:
    path = tmp_path / "back.mlir"
    path.write_text(BACK)
    text = printed("npuflow-stream-k", BACK)
    assert 'npu.results = ["arg0", "l3_0", "l3_0"]' in text
    assert npuflow.compile(BACK, device="toy").run().functions[0].verified.status is Status.OK
    assert npuflow.compile(text).run(reference=path).functions[0].verified.status is Status.OK
    with pytest.raises(InputError, match=r"unknown result in npu\.results 'l3_9'"):
        npuflow.compile(text.replace('"l3_0", "l3_0"]', '"l3_0", "l3_9"]'))
    with pytest.raises(InputError, match=r"npu\.results is 3"):
        npuflow.compile(text.replace('npu.results = ["arg0", "l3_0", "l3_0"]', "npu.results = 3"))


def test_a_module_that_was_compiled_can_be_compiled_again() -> None:
    first = npuflow.compile(PROGRAM, device="toy")
    assert npuflow.compile(first.module).functions[0].compiled.program == first.functions[0].compiled.program


def test_a_given_rate_times_the_kernels_of_a_schedule() -> None:
    # 4096 multiply-accumulates a call, at 16 a cycle: 256 cycles for 128, four calls on the way.
    slow = npuflow.compile(SCHEDULE, kernel_macs_per_cycle=16.0).functions[0]
    assert slow.simulate().cycles == 1184 + 4 * 128
    assert "multiply" not in slow.compiled.modelled


def test_arrays_go_through_a_schedule() -> None:
    random = np.random.default_rng(1)
    a = random.integers(-128, 128, (16, 64)).astype(np.int8)
    b = random.integers(-128, 128, (64, 32)).astype(np.int8)
    (c,) = npuflow.compile(SCHEDULE)["matmul"].execute(a, b)
    assert np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_functions_and_schedules_of_one_file_are_each_reported() -> None:
    compiled = npuflow.compile(f"{OTHER}\n{SCHEDULE}", device="toy")
    report = compiled.run(reference=REFERENCE)
    assert [(f.name, f.is_given, f.verified.status) for f in report.functions] == [
        ("compiled", False, Status.OK),
        ("matmul", True, Status.OK),
    ]
    alone = npuflow.compile(SCHEDULE).run().functions[0]
    assert alone.verified.status is Status.EXECUTED
    assert alone.cycles == report.functions[1].cycles == 1184
    assert compiled.run(verify=False).functions[1].verified.status is Status.SKIPPED


def test_a_module_of_both_may_have_attributes() -> None:
    module = npuflow.parse(f"{OTHER}\n{SCHEDULE}", npuflow.new_context())
    module.operation.attributes["my.note"] = ir.UnitAttr.get(module.context)
    compiled = npuflow.compile(module, device="toy")
    assert [f.name for f in compiled.functions] == ["compiled", "matmul"]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (OTHER, "the reference has no function @matmul; hint: it has @compiled"),
        (
            PROGRAM.replace("64x", "32x").replace("x64", "x32"),
            "the schedule @matmul(16x64xi8, 64x32xi8) -> (16x32xi32)",
        ),
        ("", "the reference has no function @matmul; hint: give the program"),
        ("func.func @matmul(", "error"),
    ],
)
def test_a_reference_must_be_of_the_schedules_function(reference: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "reference.mlir"
    path.write_text(reference)
    with pytest.raises(InputError) as refused:
        npuflow.compile(SCHEDULE).run(reference=path)
    assert said in str(refused.value)
    assert all(d.location and d.location.file == str(path) for d in refused.value.diagnostics)


def test_two_schedules_for_two_devices_are_refused_at_the_second() -> None:
    first, second = SCHEDULE.partition(INSIDE), SCHEDULE.partition(INSIDE)
    other = (INSIDE + second[2]).replace("@matmul attributes", "@second attributes").replace('"toy"', '"npu2"')
    with pytest.raises(InputError, match="@second is a schedule for npu2, but another one for toy comes before it"):
        npuflow.compile("".join(first) + other)


@pytest.mark.parametrize("pipeline", ["canonicalize", "nonsense"])
def test_a_schedule_needs_no_pipeline(pipeline: str) -> None:
    compiled = npuflow.compile(SCHEDULE, pipeline)
    assert (compiled.pipeline, compiled.device.name) == ("", "toy")


def test_faults_are_the_projects_own() -> None:
    with pytest.raises(NpuflowError, match="no function @matmul"):
        npuflow.compile(SCHEDULE).run(reference=ROOT / "examples" / "odd_shapes.mlir")
    with pytest.raises(UsageError, match="a reference is for schedules"):
        npuflow.compile(PROGRAM, device="toy").run(reference=REFERENCE)
