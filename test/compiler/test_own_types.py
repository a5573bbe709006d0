"""What a program's own types make of a float that is cut to an integer is right, whatever 64 bits make of it."""

from __future__ import annotations

from judges import JUDGE

import npuflow

# 4 / 1.33333337 is 3 in 32 bits and 2.9999999 in 64: PyTorch's nearest upsampling from 15 to 20 picks element 3.
NEAREST = """
func.func @nearest(%x: tensor<15xf32>) -> tensor<20xf32> {
  %scale = arith.constant 1.33333337 : f32
  %e = tensor.empty() : tensor<20xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e : tensor<20xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    %f = arith.sitofp %c : i64 to f32
    %d = arith.divf %f, %scale : f32
    %l = math.floor %d : f32
    %n = arith.fptosi %l : f32 to i64
    %at = arith.index_cast %n : i64 to index
    %y = tensor.extract %x[%at] : tensor<15xf32>
    linalg.yield %y : f32
  } -> tensor<20xf32>
  return %r : tensor<20xf32>
}
"""


def test_nearest_upsampling_is_bit_exact() -> None:
    (function,) = npuflow.compile(NEAREST, device="toy").run(verify=True, judge=JUDGE).functions
    assert (function.verified.status.value, function.verified.unchecked_elements) == ("ok", 0)
    assert function.verified.message == "bit-exact"
