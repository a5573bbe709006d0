"""Reports have each op's bound beside what was moved."""

from __future__ import annotations

import json

import pytest
from matmuls import matmul

import npuflow
from npuflow.bounds.ops import attainable, lower_bound_bytes

TWO_OPS = """
func.func @two(%a: tensor<64x32xi8>, %b: tensor<32x48xi8>, %x: tensor<16x64xf32>)
    -> (tensor<64x48xi32>, tensor<16xf32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x48xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x48xi32>) -> tensor<64x48xi32>
  %r = linalg.matmul ins(%a, %b : tensor<64x32xi8>, tensor<32x48xi8>) outs(%f : tensor<64x48xi32>) -> tensor<64x48xi32>
  %nought = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<16xf32>
  %h = linalg.fill ins(%nought : f32) outs(%g : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<16x64xf32>) outs(%h : tensor<16xf32>) dimensions = [1]
  return %r, %s : tensor<64x48xi32>, tensor<16xf32>
}
"""


def test_each_op_has_its_bound_at_each_level() -> None:
    compiled = npuflow.compile(TWO_OPS, device="toy")
    report = compiled.run(verify=False)
    traffic = json.loads(report.json())["functions"][0]["traffic"]
    product, sums = 64 * 32 + 32 * 48 + 64 * 48 * 4, 16 * 64 * 4 + 16 * 4
    for level in ("L3", "L2"):
        names = [one["name"] for one in traffic[level]["ops"]]
        assert names == ["matmul 0", "bundle 1"]
        assert [one["compulsory_bytes"] for one in traffic[level]["ops"]] == [product, sums]
        assert sum(one["lower_bound_bytes"] for one in traffic[level]["ops"]) == traffic[level]["lower_bound_bytes"]
        assert traffic[level]["read_bytes"] + traffic[level]["write_bytes"] >= traffic[level]["lower_bound_bytes"]
    lines = [line.split()[:2] for line in report.text().splitlines()]
    assert lines.count(["matmul", "0"]) == lines.count(["bundle", "1"]) == 2


def test_an_op_on_its_own_has_no_line_of_its_own() -> None:
    report = npuflow.compile(matmul(64, 64, 64), device="toy").run(verify=False)
    assert "matmul 0" not in report.text()
    assert [len(level.ops) for level in report.functions[0].traffic] == [1, 1]


@pytest.mark.parametrize("padded", [True, False])
def test_a_convolutions_bound_counts_its_windows(padded: bool) -> None:
    before, size = (1, 16) if padded else (0, 18)
    source = f"""
      func.func @conv(%image: tensor<1x32x{size}x{size}xi8>, %w: tensor<64x32x3x3xi8>) -> tensor<1x64x16x16xi32> {{
        %zero = arith.constant 0 : i32
        %none = arith.constant 0 : i8
        %x = tensor.pad %image low[0, 0, {before}, {before}] high[0, 0, {before}, {before}] {{
          ^bb0(%a: index, %b: index, %c: index, %d: index): tensor.yield %none : i8
        }} : tensor<1x32x{size}x{size}xi8> to tensor<1x32x18x18xi8>
        %e = tensor.empty() : tensor<1x64x16x16xi32>
        %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x64x16x16xi32>) -> tensor<1x64x16x16xi32>
        %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x32x18x18xi8>, tensor<64x32x3x3xi8>)
          outs(%f : tensor<1x64x16x16xi32>) -> tensor<1x64x16x16xi32>
        return %r : tensor<1x64x16x16xi32>
      }}"""
    (sizes,) = npuflow.compile(source, device="toy")["conv"].sizes
    # Windows at the edges of the padded image have but two rows, or columns, in it.
    products = (14 * 3 + 2 * 2 if padded else 16 * 3) ** 2 * 32 * 64
    fast = 400
    wanted = int(2 * products / (9 * fast) ** 0.5) + 64 * 16 * 16 * 4
    assert lower_bound_bytes(sizes, fast) == wanted > lower_bound_bytes(sizes, 1 << 20)
    best = attainable(sizes, fast)
    assert best is not None
    assert best.bytes >= wanted
