"""Arguments that pick elements are drawn inside of what they pick from."""

from __future__ import annotations

from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.execute.arrays import signature_of
from npuflow.execute.data import arrays_for
from npuflow.execute.index_limits import index_limits

PICKING = """
#same = affine_map<(d0) -> (d0)>
func.func @f(%i: tensor<400xi64>, %x: tensor<7x5xf32>, %other: tensor<400xi64>) -> (tensor<400xf32>, tensor<400xi64>) {
  %e = tensor.empty() : tensor<400xf32>
  %d = tensor.empty() : tensor<400xi64>
  %one = arith.constant 1 : i64
  %next = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%i : tensor<400xi64>) outs(%d : tensor<400xi64>) {
  ^bb0(%in: i64, %out: i64):
    %v = arith.andi %in, %one : i64
    linalg.yield %v : i64
  } -> tensor<400xi64>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
    ins(%i, %next : tensor<400xi64>, tensor<400xi64>) outs(%e : tensor<400xf32>) {
  ^bb0(%a: i64, %b: i64, %out: f32):
    %row = arith.index_cast %a : i64 to index
    %column = arith.index_cast %b : i64 to index
    %v = tensor.extract %x[%row, %column] : tensor<7x5xf32>
    linalg.yield %v : f32
  } -> tensor<400xf32>
  return %r, %other : tensor<400xf32>, tensor<400xi64>
}"""


def test_limits_are_the_least_sizes_picked_from() -> None:
    module = parse(PICKING, new_context())
    (function,) = ops_of(module.operation, "func.func")
    assert index_limits(function) == {0: 5}
    picking, _, other = arrays_for(function, signature_of(function).inputs, 0)
    assert set(picking.tolist()) == {0, 1, 2, 3, 4}
    assert other.max() > 1 << 32
