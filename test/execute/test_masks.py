"""Programs that tell nothing unless integers are masks: what is masked is the lowest number there is."""

from __future__ import annotations

import numpy as np

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.execute.references import make_reference

# x + (1 - mask) * lowest, whose exponential is 0 or that of x: of other integers infinite, or zero for all.
MASKED = """
func.func @masked(%x: tensor<3x8xf32>, %mask: tensor<3x8xi64>) -> tensor<3x8xf32> {
  %empty = tensor.empty() : tensor<3x8xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %mask : tensor<3x8xf32>, tensor<3x8xi64>) outs(%empty : tensor<3x8xf32>) {
  ^bb0(%a: f32, %m: i64, %o: f32):
    %one = arith.constant 1.0 : f32
    %lowest = arith.constant -3.40282347E+38 : f32
    %f = arith.sitofp %m : i64 to f32
    %n = arith.subf %one, %f : f32
    %p = arith.mulf %n, %lowest : f32
    %s = arith.addf %a, %p : f32
    %d = arith.subf %s, %p : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}
"""


def test_masks_are_drawn_where_other_integers_tell_nothing() -> None:
    with new_context():
        module = ir.Module.parse(MASKED)
        (function,) = ops_of(module.operation, "func.func")
        reference = make_reference(module.operation, function, 0)
    assert set(np.unique(reference.inputs[1])) == {0, 1}
    assert np.isfinite(reference.own[0]).all()
