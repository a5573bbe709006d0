"""How long groups of a chain take apart: as what they are compiled as then."""

from __future__ import annotations

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.fusion.seconds_apart import mapped_apart, seconds_of
from npuflow.network.groups import FusionGroup
from npuflow.ops.bundle import make_bundle
from npuflow.strategy.bundle_times import bundle_seconds, group_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import load_device

PRODUCT = """
#q = affine_map<(b, g, m, n, k) -> (b, g, m, k)>
#k = affine_map<(b, g, m, n, k) -> (b, n, k)>
#s = affine_map<(b, g, m, n, k) -> (b, g, m, n)>
func.func @f(%q: tensor<8xGROUPSxROWSx64xTYPE>, %k: tensor<8x1024x64xTYPE>) -> tensor<8xGROUPSxROWSx1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xGROUPSxROWSx1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xGROUPSxROWSx1024xf32>) -> tensor<8xGROUPSxROWSx1024xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8xGROUPSxROWSx64xTYPE>, tensor<8x1024x64xTYPE>)
      outs(%f : tensor<8xGROUPSxROWSx1024xf32>) {
  ^bb0(%x: TYPE, %y: TYPE, %o: f32):
    EXTENDED
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<8xGROUPSxROWSx1024xf32>
  return %s : tensor<8xGROUPSxROWSx1024xf32>
}
"""
EXTENDED = "%xw = arith.extf %x : bf16 to f32\n    %yw = arith.extf %y : bf16 to f32"
DECODE = """
func.func @f(%q: tensor<8x4x64xf32>, %k: tensor<8x64x2048xf32>) -> tensor<8x4x2048xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x4x2048xf32>) -> tensor<8x4x2048xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x4x64xf32>, tensor<8x64x2048xf32>)
      outs(%f : tensor<8x4x2048xf32>) -> tensor<8x4x2048xf32>
  return %s : tensor<8x4x2048xf32>
}
"""


def test_a_sum_of_products_takes_what_the_matmul_takes_that_it_is_collapsed_to() -> None:
    text = PRODUCT.replace("GROUPS", "4").replace("ROWS", "16").replace("TYPE", "bf16").replace("EXTENDED", EXTENDED)
    module, device, said = npuflow.parse(text, npuflow.new_context()), load_device("npu2"), Strategy()
    (function,) = module.body.operations
    (product,) = ops_of(function.operation, "linalg.generic")
    before = str(module)
    apart = seconds_of(mapped_apart(FusionGroup((product,)), device, said, bundles=False))
    collapsed = npuflow.parse(text, npuflow.new_context())
    npuflow.run_pipeline(collapsed, "npuflow-collapse-contractions")
    assert str(module) == before
    assert apart == min(group_seconds(FusionGroup((product,)), device, said), matmul_seconds(collapsed))


def matmul_seconds(module: ir.Module) -> float:
    (matmul,) = ops_of(module.operation, "linalg.generic")
    return group_seconds(FusionGroup((matmul,), is_matmul=True), load_device("npu2"), Strategy())


def test_a_matmul_takes_what_it_takes_as_a_bundle_where_it_may_be_one() -> None:
    """Four rows fill no tile that is packed, and are few enough to be computed as they are."""
    module, device, said = npuflow.parse(DECODE, npuflow.new_context()), load_device("npu2"), Strategy()
    (matmul,) = ops_of(module.operation, "linalg.batch_matmul")
    group = FusionGroup((matmul,), is_matmul=True)
    own, bundle = group_seconds(group, device, said), bundle_seconds(make_bundle([matmul]), device, said)
    assert bundle is not None
    assert bundle < own
    assert seconds_of(mapped_apart(group, device, said, bundles=False)) == own
    assert seconds_of(mapped_apart(group, device, said, bundles=True)) == bundle
