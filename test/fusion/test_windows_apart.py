"""What windows in a row are held against: the groups that they would be, as these are compiled then."""

from __future__ import annotations

import re

import npuflow.pipelines  # noqa: F401  (registers the passes)
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context

# A convolution of each channel between 1x1 convolutions, as in an inverted residual.
RESIDUAL = """
#id = affine_map<(p, o) -> (p, o)>
#image = affine_map<(n, h, w, c, y, x) -> (n, h + y, w + x, c)>
#weights = affine_map<(n, h, w, c, y, x) -> (y, x, c)>
#made = affine_map<(n, h, w, c, y, x) -> (n, h, w, c)>
func.func @f(%x: tensor<3364x16xi8>, %a: tensor<16x96xi8>, %v: tensor<3x3x96xi8>) -> tensor<1x56x56x96xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3364x96xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<3364x96xi32>) -> tensor<3364x96xi32>
  %s = linalg.matmul ins(%x, %a : tensor<3364x16xi8>, tensor<16x96xi8>)
      outs(%f : tensor<3364x96xi32>) -> tensor<3364x96xi32>
  %b = tensor.empty() : tensor<3364x96xi8>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<3364x96xi32>) outs(%b : tensor<3364x96xi8>) {
  ^bb0(%p: i32, %o: i8):
    %n = arith.trunci %p : i32 to i8
    linalg.yield %n : i8
  } -> tensor<3364x96xi8>
  %i = tensor.expand_shape %t [[0, 1, 2], [3]] output_shape [1, 58, 58, 96]
      : tensor<3364x96xi8> into tensor<1x58x58x96xi8>
  %e2 = tensor.empty() : tensor<1x56x56x96xi32>
  %f2 = linalg.fill ins(%z : i32) outs(%e2 : tensor<1x56x56x96xi32>) -> tensor<1x56x56x96xi32>
  %r = linalg.generic {indexing_maps = [#image, #weights, #made],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%i, %v : tensor<1x58x58x96xi8>, tensor<3x3x96xi8>) outs(%f2 : tensor<1x56x56x96xi32>) {
  ^bb0(%p: i8, %q: i8, %o: i32):
    %pw = arith.extsi %p : i8 to i32
    %qw = arith.extsi %q : i8 to i32
    %m = arith.muli %pw, %qw : i32
    %n = arith.addi %o, %m : i32
    linalg.yield %n : i32
  } -> tensor<1x56x56x96xi32>
  return %r : tensor<1x56x56x96xi32>
}
"""


def share_as_one(*, bundles: bool) -> float:
    """What the two take as one, of what they take apart, by the estimates."""
    sink = DiagnosticSink()
    pass_ = f"npuflow-fuse-windows{{device=npu4.0 bundle-matmuls={str(bundles).lower()}}}"
    Runner(parse_pipeline(f"npuflow-normalize-linalg,{pass_}"), sink=sink).run(parse(RESIDUAL, new_context()))
    said = "\n".join(one.message for one in sink.diagnostics)
    (share,) = re.findall(r"groups f_0, f_1 .* take an estimated ([0-9.]+) of the time", said)
    return float(share)


def test_a_matmul_takes_what_it_takes_as_it_is_mapped_if_it_stays_apart() -> None:
    """16 channels are few for a matmul's packed tiles: it is mapped as other ops are, where that may be."""
    assert share_as_one(bundles=True) > share_as_one(bundles=False)
