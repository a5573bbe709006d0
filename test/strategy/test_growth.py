"""What is with which op in a bundle: what something else would be part of else is held against that."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.ops.grown import find_bundles
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.target import load_device

ROWS = """
#x = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#vector = affine_map<(m, n) -> (n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
"""
NORM = """
  %e1 = tensor.empty() : tensor<60xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<60xf32>) -> tensor<60xf32>
  %q = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<60x96xf32>) outs(%f1 : tensor<60xf32>) {
  ^bb0(%i: f32, %o: f32):
    %1 = arith.mulf %i, %i : f32
    %2 = arith.addf %1, %o : f32
    linalg.yield %2 : f32
  } -> tensor<60xf32>
  %e2 = tensor.empty() : tensor<60x96xf32>
  %n = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x, %q : tensor<60x96xf32>, tensor<60xf32>) outs(%e2 : tensor<60x96xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %1 = arith.mulf %i, %s : f32
    linalg.yield %1 : f32
  } -> tensor<60x96xf32>
"""
PRODUCT = """
  %e3 = tensor.empty() : tensor<60x96xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<60x96xf32>) -> tensor<60x96xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%n, %w : tensor<60x96xf32>, tensor<96x96xf32>) outs(%f3 : tensor<60x96xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %1 = arith.mulf %i, %j : f32
    %2 = arith.addf %1, %o : f32
    linalg.yield %2 : f32
  } -> tensor<60x96xf32>
"""
BIAS = """
  %e4 = tensor.empty() : tensor<60x96xbf16>
  %t = linalg.generic {indexing_maps = [#x, #vector, #x], iterator_types = ["parallel", "parallel"]}
      ins(%p, %v : tensor<60x96xf32>, tensor<96xf32>) outs(%e4 : tensor<60x96xbf16>) {
  ^bb0(%i: f32, %j: f32, %o: bf16):
    %1 = arith.addf %i, %j : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<60x96xbf16>
"""
SHARES = """
  %e5 = tensor.empty() : tensor<60xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<60xf32>) -> tensor<60xf32>
  %r = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%t : tensor<60x96xbf16>) outs(%f5 : tensor<60xf32>) {
  ^bb0(%i: bf16, %o: f32):
    %1 = arith.extf %i : bf16 to f32
    %2 = arith.addf %1, %o : f32
    linalg.yield %2 : f32
  } -> tensor<60xf32>
  %e6 = tensor.empty() : tensor<60x96xf32>
  %s = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%t, %r : tensor<60x96xbf16>, tensor<60xf32>) outs(%e6 : tensor<60x96xf32>) {
  ^bb0(%i: bf16, %j: f32, %o: f32):
    %1 = arith.extf %i : bf16 to f32
    %2 = arith.divf %1, %j : f32
    linalg.yield %2 : f32
  } -> tensor<60x96xf32>
"""


def bundles_of(body: str, result: str) -> list[int]:
    """How many ops the bundles of a function have, in order."""
    text = f"""{ROWS}
func.func @f(%x: tensor<60x96xf32>, %w: tensor<96x96xf32>, %v: tensor<96xf32>) -> tensor<60x96xf32> {{
  %zero = arith.constant 0.0 : f32
{body}
  return %{result} : tensor<60x96xf32>
}}"""
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = ops_of(module.operation, "func.func")
    return [len(bundle.ops) for bundle in find_bundles(function, GrowthOn(load_device("npu2")))]


def test_a_norm_stays_whole_in_front_of_a_product() -> None:
    """With the product, what scales would be done again for each of its tiles, and the sum a part by itself."""
    assert bundles_of(NORM + PRODUCT, "p") == [2, 1]


def test_a_bias_stays_with_its_product_in_front_of_shares() -> None:
    """The product isn't a matmul by itself here, as an op in front of it might be computed on its tiles."""
    assert bundles_of(NORM + PRODUCT + BIAS + SHARES, "s") == [2, 2, 2]


SUM_OF_SUMS = """
func.func @f(%x: tensor<2x{rows}x512xf32>) -> tensor<2xf32> {{
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x{rows}xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x{rows}xf32>) -> tensor<2x{rows}xf32>
  %r = linalg.reduce {{ arith.addf }} ins(%x : tensor<2x{rows}x512xf32>) outs(%f1 : tensor<2x{rows}xf32>)
      dimensions = [2]
  %e2 = tensor.empty() : tensor<2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %s = linalg.reduce {{ arith.addf }} ins(%r : tensor<2x{rows}xf32>) outs(%f2 : tensor<2xf32>) dimensions = [1]
  return %s : tensor<2xf32>
}}
"""


@pytest.mark.parametrize(("rows", "bundles"), [(64, [1, 1]), (2, [2])])
def test_sums_are_on_all_cores_if_they_are_longer_than_their_sums_are_alone(rows: int, bundles: list[int]) -> None:
    """Two cores have all of a bundle with two tiles, which takes 30 us of 64 rows and 3 us of two."""
    module = npuflow.parse(SUM_OF_SUMS.format(rows=rows), npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-normalize-linalg")
    (function,) = ops_of(module.operation, "func.func")
    assert [len(bundle.ops) for bundle in find_bundles(function, GrowthOn(load_device("npu2")))] == bundles
