"""`npuflow run` on schedules: all outputs are written, and bad input is told clearly."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_server import HANG_SECONDS, command

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "two_cores.mlir"
REFERENCE = ROOT / "examples" / "two_cores_reference.mlir"
SCHEDULE, PROGRAM = EXAMPLE.read_text(), REFERENCE.read_text()


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


# Whole runs


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
