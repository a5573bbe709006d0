"""What a bundle grows to: where that is judged by its time, and where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.ops.bundle import Bundle
from npuflow.ops.grown import find_bundles

# A pool has rows of pixels; the products behind it, a convolution of single pixels, go through all of a channel.
POOL_AND_PRODUCTS = """
func.func @f(%x: tensor<2x8x9x9xbf16>, %w: tensor<4x8x1x1xbf16>) -> tensor<2x4x7x7xf32> {
  %low = arith.constant 0xFF80 : bf16
  %zero = arith.constant 0.0 : f32
  %p = tensor.empty() : tensor<2x8x7x7xbf16>
  %q = linalg.fill ins(%low : bf16) outs(%p : tensor<2x8x7x7xbf16>) -> tensor<2x8x7x7xbf16>
  %k = tensor.empty() : tensor<3x3xbf16>
  %m = linalg.pooling_nchw_max ins(%x, %k : tensor<2x8x9x9xbf16>, tensor<3x3xbf16>)
      outs(%q : tensor<2x8x7x7xbf16>) -> tensor<2x8x7x7xbf16>
  %e = tensor.empty() : tensor<2x4x7x7xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%m, %w : tensor<2x8x7x7xbf16>, tensor<4x8x1x1xbf16>)
      outs(%i : tensor<2x4x7x7xf32>) -> tensor<2x4x7x7xf32>
  return %r : tensor<2x4x7x7xf32>
}
"""


@dataclass(frozen=True)
class Growth:
    """Everything fits, and nothing weighs."""

    does_pay: bool

    def fits(self, bundle: Bundle) -> bool:
        return bool(bundle.ops)

    def weighs(self, _grown: Bundle, _apart: Sequence[Bundle]) -> bool:
        return False

    def pays(self, made: Sequence[Bundle], others: Sequence[Bundle]) -> bool:
        return self.does_pay and len(made) <= len(others)


@pytest.mark.parametrize("does_pay", [False, True])
def test_products_lose_cores_to_a_pool_only_where_that_pays(does_pay: bool) -> None:
    module = npuflow.parse(POOL_AND_PRODUCTS, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-normalize-linalg")
    (function,) = ops_of(module.operation, "func.func")
    found = find_bundles(function, Growth(does_pay))
    assert len(found) == (1 if does_pay else 2)
