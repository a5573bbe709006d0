"""What ops in front of a matmul, in its steps and behind it all read is in L2 for each of them when it is there."""

from __future__ import annotations

from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status

SIZE = 19
PROGRAM = """
#own = affine_map<(i, j) -> (i, j)>
func.func @masked(%m: tensor<{0}xi1>, %a: tensor<{0}xbf16>, %b: tensor<{0}xbf16>) -> tensor<{0}xbf16> {{
  %zero = arith.constant 0.0 : f32
  %none = tensor.empty() : tensor<{0}xbf16>
  %l = {1} ins(%m, %a : tensor<{0}xi1>, tensor<{0}xbf16>) outs(%none : tensor<{0}xbf16>) {2}
  %r = {1} ins(%m, %b : tensor<{0}xi1>, tensor<{0}xbf16>) outs(%none : tensor<{0}xbf16>) {2}
  %e = tensor.empty() : tensor<{0}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{0}xf32>) -> tensor<{0}xf32>
  %p = linalg.matmul ins(%l, %r : tensor<{0}xbf16>, tensor<{0}xbf16>) outs(%f : tensor<{0}xf32>) -> tensor<{0}xf32>
  %s = linalg.generic {{indexing_maps = [#own, #own], iterator_types = ["parallel", "parallel"]}}
    ins(%p : tensor<{0}xf32>) outs(%none : tensor<{0}xbf16>) {{
  ^bb0(%x: f32, %y: bf16):
    %t = arith.truncf %x : f32 to bf16
    linalg.yield %t : bf16
  }} -> tensor<{0}xbf16>
  %o = {1} ins(%m, %s : tensor<{0}xi1>, tensor<{0}xbf16>) outs(%none : tensor<{0}xbf16>) {2}
  return %o : tensor<{0}xbf16>
}}
"""
SELECT = 'linalg.generic {indexing_maps = [#own, #own, #own], iterator_types = ["parallel", "parallel"]}'
BODY = """{{
  ^bb0(%c: i1, %x: bf16, %y: bf16):
    %z = arith.constant 0.0 : bf16
    %t = arith.select %c, %x, %z : bf16
    linalg.yield %t : bf16
  }} -> tensor<{0}xbf16>"""


def test_a_mask_of_both_factors_and_of_the_result() -> None:
    shape = f"{SIZE}x{SIZE}"
    text = PROGRAM.format(shape, SELECT, BODY.format(shape))
    (function,) = npuflow.compile(text, device="npu2", split=False).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
