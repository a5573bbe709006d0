"""What all cores of a single row read comes from L3 once, unless streams by columns need its lane."""

from __future__ import annotations

import pytest
from judges import JUDGE

import npuflow

MAPS = "affine_map<(m, k) -> (m, k)>"
MATVEC = """
func.func @matvec(%a: tensor<64x128xi32>, %x: tensor<128xi32>) -> tensor<64xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64xi32>) -> tensor<64xi32>
  %r = linalg.matvec ins(%a, %x : tensor<64x128xi32>, tensor<128xi32>) outs(%f : tensor<64xi32>) -> tensor<64xi32>
  return %r : tensor<64xi32>
}
"""
BIASED = f"""
func.func @biased(%a: tensor<64x128xi32>, %x: tensor<128xi32>, %b: tensor<64x128xi32>) -> tensor<64x128xi32> {{
  %e = tensor.empty() : tensor<64x128xi32>
  %r = linalg.generic {{indexing_maps = [{MAPS}, affine_map<(m, k) -> (k)>, {MAPS}, {MAPS}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%a, %x, %b : tensor<64x128xi32>, tensor<128xi32>, tensor<64x128xi32>) outs(%e : tensor<64x128xi32>)
      attrs = {{npu.strategy = #npu.strategy<{{spread = [0, 0]}}>}} {{
    ^bb0(%p: i32, %q: i32, %s: i32, %o: i32):
      %t = arith.addi %p, %q : i32
      %u = arith.addi %t, %s : i32
      linalg.yield %u : i32
  }} -> tensor<64x128xi32>
  return %r : tensor<64x128xi32>
}}
"""


@pytest.mark.parametrize(("source", "copies"), [(MATVEC, 1), (BIASED, 4)])
def test_a_vector_that_all_columns_read(source: str, copies: int) -> None:
    compiled = npuflow.compile(source, device="npu1", pipeline="npuflow-stream-k{grid=1,4}")
    (function,) = compiled.run(verify=True, judge=JUDGE).functions
    assert function.verified.status.value == "ok"
    (outer,) = [level for level in function.traffic if level.level == "L3"]
    (vector,) = [tensor for tensor in outer.tensors if tensor.tensor == "arg1"]
    assert vector.read_bytes == copies * 128 * 4
