"""`npuflow bounds` as a user calls it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from npuflow.tools.npuflow import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MATMUL = """
func.func @product(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %c = linalg.matmul ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>)
    outs(%fill : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  return %c : tensor<{m}x{n}xi32>
}}
"""
TWO_IN_A_ROW = """
func.func @two(%a: tensor<64x32xf32>, %b: tensor<32x128xf32>, %d: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<64x128xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x128xf32>)
    outs(%f0 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %e1 = tensor.empty() : tensor<64x32xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %q = linalg.matmul ins(%p, %d : tensor<64x128xf32>, tensor<128x32xf32>)
    outs(%f1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}
"""


@pytest.fixture
def product(tmp_path: Path) -> str:
    path = tmp_path / "product.mlir"
    path.write_text(MATMUL.format(m=64, n=96, k=128))
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["bounds", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_what_no_tiles_are_faster_than_is_said_where_cores_take_longest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.mlir"
    path.write_text(MATMUL.format(m=256, n=256, k=1024))
    assert main(["bounds", str(path), "--device=toy"]) == 0
    assert (
        "no tiles take less than 283.6 us: 3.072 us until cores begin, 280.5 us of kernels" in capsys.readouterr().out
    )
    (function,) = asked(capsys, str(path), "--device=toy")["functions"]  # type: ignore[misc]
    least = function["ops"][0]["least_time"]
    assert least["seconds"] == pytest.approx(least["before_seconds"] + least["core_seconds"])
    assert least["grid"] == [2, 2]


def test_of_what_dram_takes_longest_for_nothing_is_said_of_tiles(
    product: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (function,) = asked(capsys, product, "--device=toy")["functions"]  # type: ignore[misc]
    assert function["ops"][0]["least_time"] is None


@pytest.mark.parametrize(
    ("arguments", "attainable"),
    [
        (["--gemm=512,512,512", "--capacity=4161"], 4_456_448),
        (["--gemm=512,512,512", "--capacity=16513"], 2_359_296),
        (["--gemm=512,512,512", "--capacity=262657"], 786_432),
        (["--chain=512,768,3072,768", "--capacity=786944"], 5_505_024),
        (["--attention=512,64", "--capacity=16512"], 327_680),
        (["--attention=512,64", "--capacity=65665"], 131_072),
    ],
)
def test_published_exact_optima(arguments: list[str], attainable: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, *arguments)["attainable"] == attainable


def test_unfused_is_beside_fused(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "--chain=512,768,3072,768", "--capacity=786944")
    assert isinstance(found["unfused"], dict)
    assert found["unfused"]["attainable"] == 8_650_752
    assert found["fusing_saves"] == 8_650_752 - 5_505_024
    found = asked(capsys, "--attention=512,64")
    assert isinstance(found["unfused"], dict)
    assert (found["compulsory"], found["unfused"]["compulsory"], found["attainable"]) == (131_072, 655_360, None)


def test_formulas_say_where_they_are_from(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--gemm=8,8,8"], ["--conv=1,8,8,8,3,3,8"]):
        found = asked(capsys, *arguments)
        assert "recalled" in str(found["source"])
        assert found["validity"]
    assert main(["bounds", "--conv=1,112,112,64,7,7,3,2", "--capacity=16384"]) == 0
    printed = capsys.readouterr().out
    assert "the formula's 1329664 is no bound here" in printed
    assert "Chen, Han, Wang, HPCA 2020; recalled" in printed


def test_a_files_ops_and_what_its_schedule_moves(product: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, product, "--device=toy")
    (function,) = found["functions"]  # type: ignore[misc, attr-defined]
    (op,) = function["ops"]
    needed = 64 * 128 + 128 * 96 + 64 * 96 * 4
    assert op["macs"] == 64 * 96 * 128
    assert op["levels"]["L3"]["compulsory_bytes"] == op["levels"]["L3"]["attainable_bytes"] == needed
    assert op["levels"]["L2"]["lower_bound_bytes"] <= op["levels"]["L2"]["attainable_bytes"]
    assert op["levels"]["L2"]["private_bytes"] > 0
    assert op["intensity"] == 2 * op["macs"] / needed
    assert op["memory_bound"] == (op["intensity"] < op["balance"])
    assert function["moved_bytes"]["L3"] >= needed
    assert main(["bounds", product, "--device=toy"]) == 0
    printed = capsys.readouterr().out
    assert "0: matmul 64x96x128" in printed
    assert re.search(r"the schedule of all of it\n +L3 .*KiB", printed)


def test_matmuls_in_a_row_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.mlir"
    path.write_text(TWO_IN_A_ROW)
    (function,) = asked(capsys, str(path), "--device=toy")["functions"]  # type: ignore[misc]
    outer = function["chains"][0]
    apart, together = 4 * (64 * 32 + 32 * 128 + 128 * 32 + 64 * 32 + 2 * 64 * 128), 2 * 64 * 128 * 4
    assert (outer["name"], outer["level"]) == ("0 and 1", "L3")
    assert outer["unfused"]["compulsory_bytes"] == apart
    assert outer["fused"]["compulsory_bytes"] == outer["fused"]["attainable_bytes"] == apart - together


def test_what_does_not_compile_has_bounds_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.mlir"
    strategy = "linalg.matmul {npu.strategy = #npu.strategy<{tile_l1 = [64, 96, 128]}>}"
    path.write_text(MATMUL.format(m=64, n=96, k=128).replace("linalg.matmul", strategy))
    (function,) = (found := asked(capsys, str(path), "--device=toy"))["functions"]  # type: ignore[misc]
    assert "L1" in str(found["why_not_compiled"])
    assert function["moved_bytes"] is None
    assert function["ops"][0]["levels"]["L3"]["compulsory_bytes"] == 64 * 128 + 128 * 96 + 64 * 96 * 4


def test_a_file_without_functions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text("module {}")
    assert main(["bounds", str(path)]) == 1
    assert "add one, or make one public" in capsys.readouterr().err


def test_a_sweep_says_where_what_bounds_changes(
    product: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, page = tmp_path / "sweep.csv", tmp_path / "sweep.html"
    arguments = [product, "--device=toy", "--sweep=m=1..40", f"--csv={table}", f"--html={page}"]
    assert main(["bounds", *arguments]) == 0
    assert "@product, 0: matmul 64x96x128 on toy, M from 1 to 40" in capsys.readouterr().out
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["M"]) for row in rows] == list(range(1, 41))
    assert {(row["N"], row["K"]) for row in rows} == {("96", "128")}
    for row in rows:
        assert float(row["ops_per_byte"]) == pytest.approx(2 * int(row["macs"]) / int(row["attainable_bytes"]))
        assert (float(row["ops_per_byte"]) < float(row["balance"])) == (row["memory_bound"] == "True")
    text = page.read_text(encoding="utf-8")
    assert text.count("<polyline") == 3
    without_namespace = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\bsrc=|@import|<link|fetch\(|url\(", without_namespace)


def test_a_sweep_of_numbers_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", "--gemm=8,64,64", "--sweep=N=1..100000", "--device=npu2", "--csv=-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("op,M,N,K,macs")
    assert lines[1].startswith("matmul of i8,8,1,64,")
    assert lines[-1].startswith("matmul of i8,8,100000,64,")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "expected one file or one of --gemm"),
        (["--gemm=1,2"], 2, "--gemm=M,N,K"),
        (["--gemm=1,2,x"], 2, "K cannot be 'x'"),
        (["--gemm=0,2,3"], 2, "M cannot be '0'"),
        (["--gemm=1,2,99999999999999999999999"], 2, "whole numbers from 1"),
        (["--conv=1,2,3"], 2, "give 7 as in --conv=B,Ho,Wo,Co,Hk,Wk,Ci,stride"),
        (["--gemm=1,2,3", "--attention=1,2"], 2, "got 2"),
        (["/nowhere.mlir"], 1, "/nowhere.mlir"),
        ([str(EXAMPLES / "two_cores.mlir")], 1, "the program that a schedule was made of"),
        ([str(EXAMPLES)], 1, "is a directory"),
        (["--gemm=4,4,4", "--sweep=Q=1..4"], 2, "as M=1..4096"),
        (["--gemm=4,4,4", "--sweep=M=9..4"], 2, "as M=1..4096"),
        (["--attention=4,4", "--sweep=M=1..4"], 2, "give a file or --gemm"),
        (["--gemm=4,4,4", "--csv=x"], 2, "add --sweep"),
        (["--gemm=4,4,4", "--sweep=M=1..4", "--capacity=9"], 2, "leave --capacity out"),
        (["--gemm=4,4,4", "--sweep=M=1..4", "--device=nope"], 2, "unknown device 'nope'"),
        (["--gem=4,4,4"], 2, "did you mean --gemm"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", *arguments]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
