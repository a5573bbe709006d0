"""Roofs, what stands under them, and mappings in words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from matmuls import SMALL, TILES, matmul

import npuflow
from npuflow.report.mapping import mapping_lines
from npuflow.report.roofline import peaks_of, roofline_points
from npuflow.target import load_device

BLOCK = Path(__file__).resolve().parents[2] / "examples" / "block.mlir"
MAXIMUM = """func.func @most(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %m = linalg.max ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %m : tensor<64x64xf32>
}
"""


def run(source: str | Path, options: str = "", device: str = "toy") -> npuflow.RunReport:
    return npuflow.compile(source, f"npuflow-stream-k{options}", device=device).run(verify=False)


def test_roofs_are_the_device_files() -> None:
    # 64 MAC per cycle on four cores at 1 GHz; vectors of 32 bytes.
    peaks = peaks_of(load_device("toy"))
    assert peaks["i8 x i8 -> i32"] == 2 * 64 * 4 * 1e9
    assert (peaks["vector, 32 bits"], peaks["vector, 16 bits"]) == (8 * 4 * 1e9, 16 * 4 * 1e9)
    report = run(SMALL)
    data = json.loads(report.json())
    assert data["peak_ops_per_second"] == dict(peaks)
    assert data["dram_bytes_per_second"] == 8e9


def test_a_matmul_stands_where_its_traffic_and_time_are() -> None:
    report = run(SMALL, TILES)
    (function,) = report.functions
    (point,) = roofline_points(report)
    operations = 2 * 64 * 64 * 128
    # 2x2 blocks: 32 KiB come in, twice what is needed, 16 KiB go out.
    assert point.intensity == operations / (48 * 1024)
    assert point.compulsory == operations / (32 * 1024)
    assert point.rate == pytest.approx(function.ops_per_second)
    assert point.busy_rate == pytest.approx(operations / ((function.cycles - 1000) * 1e-9))  # the launch takes 1 us
    assert point.busy_rate <= min(point.intensity * 8e9, 512e9)


def test_what_multiplies_nothing_has_operations_as_well() -> None:
    report = run(MAXIMUM)
    (function,) = report.functions
    assert (function.macs, function.vector_operations) == (0, 64 * 64)
    (point,) = roofline_points(report)
    assert (point.types, point.intensity) == ("", 64 * 64 / (3 * 64 * 64 * 4))


def test_every_part_of_a_sequence_stands_there() -> None:
    report = run(BLOCK, device="npu2")
    assert [point.function for point in roofline_points(report)] == [part.name for part in report.functions]
    assert all(point.rate < point.busy_rate for point in roofline_points(report))


def test_what_needs_no_dram_stands_there_without_an_intensity() -> None:
    report = run(MAXIMUM)
    outer, *inner = report.functions[0].traffic
    inside = replace(report.functions[0], traffic=(replace(outer, tensors=()), *inner))
    (point,) = roofline_points(replace(report, functions=(inside,)))
    assert (point.intensity, point.compulsory) == (None, None)
    assert point.busy_rate > 0


def test_ops_that_run_as_one_share_its_rate() -> None:
    lhs, rhs, out = "tensor<32x64xi8>", "tensor<64x32xi8>", "tensor<32x32xi32>"
    mm = f"linalg.matmul ins(%a, %b : {lhs}, {rhs}) outs(%f : {out}) -> {out}"
    other = f"linalg.matmul ins(%c, %d : {lhs}, {rhs}) outs(%f : {out}) -> {out}"
    source = f"""func.func @two(%a: {lhs}, %b: {rhs}, %c: {lhs}, %d: {rhs}) -> ({out}, {out}) {{
      %zero = arith.constant 0 : i32
      %e = tensor.empty() : {out}
      %f = linalg.fill ins(%zero : i32) outs(%e : {out}) -> {out}
      %x = {mm}
      %y = {other}
      return %x, %y : {out}, {out}
    }}"""
    report = run(source)
    whole, *ops = roofline_points(report)
    assert (whole.op, [op.op for op in ops]) == ("", ["matmul 32x32x64"] * 2)
    assert {op.rate for op in ops} == {whole.rate}
    assert ops[0].intensity == 2 * 32 * 32 * 64 / (2 * 32 * 64 + 4 * 32 * 32)


def test_a_mapping_in_words() -> None:
    (function,) = run(SMALL, TILES).functions
    assert dict(mapping_lines(function)) == {
        "spatial": "2x2 cores, rows along m, columns along n; 16x16 of m x n each",
        "temporal": "blocks of 32x32 of m x n, 4 of them; 128 of k in pieces of 64 in L2, of 32 in L1",
    }
    (function,) = run(matmul(64, 30, 100), "{grid=2,2 tile-l2=32,16,64 tile-l1=16,8,32}").functions
    assert dict(mapping_lines(function))["temporal"].startswith(
        "blocks of 32x16 of m x n, 4 of them; 100 of k in pieces of 64"
    )


def test_a_bundles_mapping_in_words() -> None:
    (function,) = run(MAXIMUM).functions
    said = dict(mapping_lines(function))
    assert said["spatial"].startswith(f"{function.grid[0]}x{function.grid[1]} cores, rows along loop ")
    assert set(said) == {"spatial", "temporal"}
