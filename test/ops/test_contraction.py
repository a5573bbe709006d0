"""What is a contraction: products of operands as they are, or extended."""

from __future__ import annotations

import pytest
from judges import JUDGE

import npuflow
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import match_contraction

PROGRAM = """
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x6xbf16>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {{
  %r = linalg.generic {{indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%x, %w : tensor<4x8xf32>, tensor<8x6xbf16>) outs(%init : tensor<4x6xf32>) {{
  ^bb0(%p: f32, %q: bf16, %sum: f32):
    {factor}
    %e = arith.extf %q : bf16 to f32
    %product = arith.mulf %f, %e : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}}"""


@pytest.mark.parametrize(
    ("factor", "matches"),
    [
        ("%zero = arith.constant 0.0 : f32\n %f = arith.addf %p, %zero : f32", False),
        ("%f = math.exp %p : f32", False),
        ("%f = arith.negf %p : f32", False),
        ("%t = arith.truncf %p : f32 to bf16\n %f = arith.extf %t : bf16 to f32", False),
        ("%t = arith.extf %p : f32 to f64\n %f = arith.truncf %t : f64 to f32", False),
        ("", True),
    ],
)
def test_what_is_computed_of_an_operand_is_no_operand(factor: str, matches: bool) -> None:
    text = PROGRAM.format(factor=factor)
    if not factor:
        text = text.replace("%f, %e", "%p, %e")
    module = npuflow.parse(text, npuflow.new_context())
    (op,) = ops_of(module.operation, "linalg.generic")
    assert (match_contraction(op) is not None) == matches


REPEATED = """
#a = affine_map<(r, m, n, k) -> (m, k)>
#b = affine_map<(r, m, n, k) -> (n, k)>
#c = affine_map<(r, m, n, k) -> (r, m, n)>
#d = affine_map<(r, m, n) -> (r, m, n)>
#e = affine_map<(r, m, n) -> (n)>
func.func @repeated(%x: tensor<5x28xbf16>, %w: tensor<24x28xbf16>, %bias: tensor<24xf32>) -> tensor<3x5x24xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x5x24xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x5x24xf32>) -> tensor<3x5x24xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<5x28xbf16>, tensor<24x28xbf16>) outs(%fill : tensor<3x5x24xf32>) {
  ^bb0(%p: bf16, %q: bf16, %sum: f32):
    %f = arith.extf %p : bf16 to f32
    %e = arith.extf %q : bf16 to f32
    %product = arith.mulf %f, %e : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<3x5x24xf32>
  %t = linalg.generic {indexing_maps = [#d, #e, #d], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%r, %bias : tensor<3x5x24xf32>, tensor<24xf32>) outs(%empty : tensor<3x5x24xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %next = arith.addf %p, %q : f32
    linalg.yield %next : f32
  } -> tensor<3x5x24xf32>
  return %t : tensor<3x5x24xf32>
}"""


def test_a_product_that_is_repeated_is_no_contraction_and_compiles() -> None:
    """As of learned latents, which are the same for each of a batch: no factor follows the loop that repeats it."""
    module = npuflow.parse(REPEATED, npuflow.new_context())
    repeated, _ = ops_of(module.operation, "linalg.generic")
    assert match_contraction(repeated) is None
    (function,) = npuflow.compile(module, device="npu2").run(verify=True, judge=JUDGE).functions
    assert function.verified.status.value == "ok", function.verified.message
