"""`npuflow run` on schedules: what is compiled and what is printed are one program, and bad input is told clearly."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_server import HANG_SECONDS, command

import npuflow
from npuflow.bindings import ir
from npuflow.errors import InputError, NpuflowError, UsageError
from npuflow.execute.verification import Status

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "two_cores.mlir"
REFERENCE = ROOT / "examples" / "two_cores_reference.mlir"
SCHEDULE, PROGRAM = EXAMPLE.read_text(), REFERENCE.read_text()
OTHER = PROGRAM.replace("@matmul", "@compiled")
OPTIONS = "device=toy grid=1,2 tile-l2=16,32,16 tile-l1=16,16,16"
PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")


def changed(old: str, new: str, text: str = SCHEDULE) -> str:
    assert old in text
    return text.replace(old, new)


def run(*arguments: str, text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command("npuflow"), "run", *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=HANG_SECONDS,
        check=False,
    )


def printed(pipeline: str, source: str = PROGRAM) -> str:
    """What npuflow-opt prints of a program's schedule."""
    module = npuflow.parse(source, npuflow.new_context())
    npuflow.run_pipeline(module, f"{pipeline}{{{OPTIONS}}},npuflow-schedule")
    return str(module)


# What is timed is what is printed


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


# Whole runs


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


def test_all_outputs_are_written_for_a_schedule(tmp_path: Path) -> None:
    result = run("-", "--json=r.json", "--trace=t.json", "--html=p.html", text=SCHEDULE, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (function,) = json.loads((tmp_path / "r.json").read_text())["functions"]
    assert (function["is_schedule"], function["cycles"], function["macs"]) == (True, 1184, 16 * 32 * 64)
    assert (function["verified"]["status"], function["verified"]["against"]) == ("executed", None)
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "1184" in (tmp_path / "p.html").read_text()


# Wrong ones

# How sums are written to the memory tile; tiles of A are read in the same order.
SUMS = "slot = #once_first, offset = #once_first, sizes = [4, 2, 4, 8], strides = [64, 8, 16, 1]"


def test_what_a_schedule_computes_wrongly_is_found_with_a_reference(tmp_path: Path) -> None:
    # Rows of instructions come back in the order of columns: all bytes are written and read once, but elsewhere.
    text = changed(
        f"{SUMS}, limits",
        "slot = #once_first, offset = #once_first, sizes = [2, 4, 4, 8], strides = [8, 64, 16, 1], limits",
        SCHEDULE,
    )
    assert run("-", "--no-verify", text=text, cwd=tmp_path).returncode == 0
    assert "executed: no deadlock" in run("-", text=text, cwd=tmp_path).stdout
    wrong = run("-", f"--reference={REFERENCE}", "--json=r.json", text=text, cwd=tmp_path)
    assert wrong.returncode == 1
    assert "WRONG" in wrong.stdout
    assert "@matmul's schedule computes something else" in wrong.stderr
    assert "look at kernels, offsets, sizes and slots" in wrong.stderr
    assert list(tmp_path.iterdir()) == []


BOTH = """func.func @both(%a: tensor<8x8xi32>, %b: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %i = arith.constant 0 : index
  "npu.acquire"(%i) {semaphore = @s, at = affine_map<(d0) -> (d0)>} : (index) -> ()
  %r = linalg.matmul ins(%a, %b : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
"""
INSIDE = "module @matmul attributes"


@pytest.mark.parametrize(
    ("text", "arguments", "code", "said"),
    [
        (changed('<"toy", {}>', '<"npu9", {}>'), (), 1, ("error: unknown device 'npu9'", "did you mean npu2")),
        (SCHEDULE, ("--device=npu2",), 1, ("error: @matmul is a schedule for toy, but npu2 is asked for",)),
        (SCHEDULE, ("--columns=1",), 1, ("error: @matmul is a schedule for toy, but toy:1 is asked for",)),
        (SCHEDULE, ("--device=npu9",), 2, ("error: unknown device 'npu9'",)),
        (SCHEDULE, ("--grid=1,2",), 2, ("--grid would change nothing",)),
        (SCHEDULE, ("--pipeline=npuflow-stream-k",), 2, ("--pipeline would change nothing",)),
        (SCHEDULE, ("--reference=none.mlir",), 1, ("cannot open input file 'none.mlir': no such file",)),
        (PROGRAM, (f"--reference={REFERENCE}",), 2, ("a reference is for schedules",)),
        (BOTH, (), 1, ("<stdin>:3:3: error: @both has linalg.matmul to be compiled and npu.acquire of a schedule",)),
        (
            "\n".join(line for line in BOTH.splitlines() if "matmul" not in line).replace("return %r", "return %c"),
            (),
            1,
            ("<stdin>:1:1: error: @both has npu.acquire, but stands in no schedule", "npu.extents"),
        ),
        (
            changed("  // Kernels:", PROGRAM.replace("@matmul", "@inner") + "  // Kernels:"),
            (),
            1,
            ("error: @inner is on tensors, but stands in a schedule",),
        ),
        (
            changed("contents = memref<16x16xi8, 1>, depth = 2", "contents = memref<16x16xi8, 1>, depth = 2000"),
            (),
            1,
            ("L2 of memory tile 0 needs 513536 bytes, has 262144", "; hint: "),
        ),
        (changed("maximum = 2 ", "maximum = 99 "), (), 1, ("counts to 99, a lock of level 1 to 63",)),
        (changed("initial = 1 : i64, maximum = 1", "initial = 0 : i64, maximum = 1"), (), 1, ("; hint: ",)),
    ],
)
def test_bad_input_gets_a_message_and_its_exit_code(
    text: str, arguments: tuple[str, ...], code: int, said: tuple[str, ...], tmp_path: Path
) -> None:
    result = run("-", *arguments, text=text, cwd=tmp_path)
    missing = [part for part in said if part not in result.stderr]
    assert (result.returncode, missing) == (code, []), result.stderr
    assert "Traceback" not in result.stderr


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
