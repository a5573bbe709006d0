"""What elementwise ops become one with, where lit's programs are too short."""

from __future__ import annotations

import npuflow
from npuflow.core.passes import ops_of

# More than frames on Python's stack.
LENGTH = 1200
SAME = "affine_map<(i, j) -> (i, j)>"
KIND = "tensor<8x8xf32>"


def squared(number: int) -> str:
    return f"""
  %v{number + 1} = linalg.generic {{indexing_maps = [{SAME}, {SAME}], iterator_types = ["parallel", "parallel"]}}
      ins(%v{number} : {KIND}) outs(%e : {KIND}) {{
  ^bb0(%a: f32, %o: f32):
    %n = arith.mulf %a, %a : f32
    linalg.yield %n : f32
  }} -> {KIND}"""


def test_what_is_behind_windows_is_looked_for_along_chains_of_any_length() -> None:
    text = f"""
func.func @f(%v0: {KIND}) -> tensor<8x2x4xf32> {{
  %e = tensor.empty() : {KIND}{"".join(map(squared, range(LENGTH)))}
  %r = tensor.expand_shape %v{LENGTH} [[0], [1, 2]] output_shape [8, 2, 4] : {KIND} into tensor<8x2x4xf32>
  return %r : tensor<8x2x4xf32>
}}"""
    module = npuflow.parse(text, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-fuse-elementwise")
    (fused,) = ops_of(module.operation, "linalg.generic")
    assert len(ops_of(fused, "arith.mulf")) == LENGTH
