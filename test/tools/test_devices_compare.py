"""`npuflow devices --compare` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import npuflow
from npuflow.report.machines import RefusedMachine, machine_table
from npuflow.tools.npuflow import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RELU, BLOCK = EXAMPLES / "linear_relu.mlir", EXAMPLES / "block.mlir"


def test_machines_stand_in_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json_file = tmp_path / "out.json"
    assert main(["devices", "--compare=toy-scratchpad,npu4.0", str(RELU), "--json", str(json_file)]) == 0
    title, heads, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith("@linear_relu(")
    assert heads.split()[:3] == ["device", "time", "cycles"]
    assert [row.split()[0] for row in rows] == ["npu4.0", "toy-scratchpad"]  # the fastest first
    (function,) = json.loads(json_file.read_text())["functions"]
    assert [one["device"] for one in function["machines"]] == ["toy-scratchpad", "npu4.0"]


def test_numbers_are_those_of_each_report() -> None:
    report = npuflow.compile(RELU, device="npu2.7").run(verify=False)
    (function,) = report.functions
    ((result,),) = machine_table([report]).functions.values()
    assert (result.time_us, result.cycles) == (function.time_us, function.cycles)
    assert result.ops_per_second == pytest.approx(2 * 256 * 512 * 256 / (function.time_us / 1e6))
    assert result.peak_share == pytest.approx(function.efficiency)
    assert (result.read_bytes, result.written_bytes) == (
        function.traffic[0].read_bytes,
        function.traffic[0].write_bytes,
    )


def test_parts_of_a_sequence_count_together() -> None:
    report = npuflow.compile(BLOCK, device="npu2").run(verify=False)
    (sequence,) = report.sequences
    ((result,),) = machine_table([report]).functions.values()
    assert (result.parts, result.cycles) == (len(sequence.parts), sequence.cycles)
    assert result.written_bytes == sum(part.traffic[0].write_bytes for part in sequence.parts)


def test_a_machine_that_refuses_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    odd = tmp_path / "odd.mlir"
    odd.write_text(
        "func.func @f(%a: tensor<8x8xi16>, %b: tensor<8x8xi16>, %c: tensor<8x8xi16>) -> tensor<8x8xi16> {\n"
        "  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [4, 4]}>}"
        " ins(%a, %b : tensor<8x8xi16>, tensor<8x8xi16>)"
        " outs(%c : tensor<8x8xi16>) -> tensor<8x8xi16>\n"
        "  return %r : tensor<8x8xi16>\n}\n"
    )
    assert main(["devices", "--compare=npu4.0,npu1", str(odd)]) == 0
    assert "  npu4.0 is refused: " in capsys.readouterr().out
    table = machine_table([], [RefusedMachine("x", "too small")])
    assert table.lines() == ["  x is refused: too small"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--compare=npu2.7"], 2, "expected one input file, got 0"),
        (["--compare=npu9", str(RELU)], 2, "unknown device 'npu9'"),
        (["npu2", "--json=-"], 2, "--json is for --compare"),
        (["--compare=toy", "/nowhere.mlir"], 1, "/nowhere.mlir"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", *arguments]) == code
    assert said in capsys.readouterr().err
