"""The tree of a fused group says what is executed: levels down, loops and ops, and the bytes on each edge."""

from __future__ import annotations

import json
from pathlib import Path

import npuflow
from npuflow.report.dataflow_text import dataflow_lines, edge_text
from npuflow.report.measures import DataflowNode

SUMS = "tensor<1x{0}x{0}x8xi32>"
WINDOW = "linalg.conv_2d_nhwc_hwcf ins({0}, %w : {1}, tensor<3x3x8x8xi32>) outs({2} : {3}) -> {3}"
FIRST, SECOND = SUMS.format(14), SUMS.format(12)
TWO = f"""
func.func @two(%x: {SUMS.format(16)}, %w: tensor<3x3x8x8xi32>) -> {SECOND} {{
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : {FIRST}
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : {FIRST}) -> {FIRST}
  %a = {WINDOW.format("%x", SUMS.format(16), "%f0", FIRST)}
  %e1 = tensor.empty() : {SECOND}
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : {SECOND}) -> {SECOND}
  %b = {WINDOW.format("%a", FIRST, "%f1", SECOND)}
  return %b : {SECOND}
}}
"""
MATMUL = """
func.func @alone(%a: tensor<32x32xi8>, %b: tensor<32x32xi8>) -> tensor<32x32xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<32x32xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<32x32xi32>) -> tensor<32x32xi32>
  %r = linalg.matmul ins(%a, %b : tensor<32x32xi8>, tensor<32x32xi8>) outs(%f : tensor<32x32xi32>) -> tensor<32x32xi32>
  return %r : tensor<32x32xi32>
}
"""


def ops_of(node: DataflowNode) -> list[DataflowNode]:
    """The nodes without children, in order."""
    return [leaf for child in node.children for leaf in ops_of(child)] if node.children else [node]


def test_two_windows_hand_over_their_halos_on_a_core() -> None:
    """4 x 4 tiles of 3 x 3: what the first makes for the second has 2 rows and columns more, 8 channels of 4 bytes."""
    pipeline = "npuflow-stream-k{window-tiles=3,3}"
    report = npuflow.compile(TWO, device="npu2", pipeline=pipeline).run(verify=False)
    (function,) = report.functions
    tree = function.dataflow
    assert tree is not None
    assert sum(edge.bytes for edge in tree.reads) == function.traffic[0].read_bytes
    assert sum(edge.bytes for edge in tree.writes) == function.traffic[0].write_bytes == 12 * 12 * 8 * 4
    first, second = ops_of(tree)
    assert [edge.bytes for edge in first.writes if edge.stays] == [16 * 5 * 5 * 8 * 4]
    assert any(edge.value == "arg0" for edge in first.reads)
    assert [edge.value for edge in second.reads if edge.stays] == [edge.value for edge in first.writes]
    lines = list(dataflow_lines(tree))
    assert lines[0].startswith("L3: arg0 ")
    assert any("window" in line and "[l1_" in line for line in lines)
    assert lines[1] in report.text(details=True).replace("\n  ", "\n").splitlines()
    assert json.loads(report.json())["functions"][0]["dataflow"]["what"] == "L3"


def test_engines_side_by_side_hand_over_through_slots() -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "two_layers.mlir"
    small = example.read_text().replace("8192", "864")
    (function,) = npuflow.compile(small, device="npu4.0:1x1").run(verify=False).functions
    assert function.dataflow is not None
    matrix, vector = function.dataflow.children
    assert (matrix.what, vector.what) == ("1 x matrix, beside vector", "1 x vector, beside matrix")
    (elementwise,) = ops_of(vector)
    kept = [edge for edge in elementwise.reads + elementwise.writes if edge.stays]
    assert [edge.slots for edge in kept] == [2, 2]
    assert all(edge_text(edge).endswith(", 2 slots") for edge in kept)


def test_an_op_alone_has_no_tree() -> None:
    report = npuflow.compile(MATMUL, device="npu2").run(verify=False)
    assert report.functions[0].dataflow is None
