"""Slices of padded tensors: zeros in front count, though what is read has as many indices as there are without them."""

from __future__ import annotations

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status

# Windows of 3 with stride 3 reach over 6 of the 7 padded rows: a zero, and the first 5 of the 6 that exist.
SHIFTED = """
func.func @shifted(%x: tensor<1x4x6x6xi8>, %w: tensor<8x4x3x3xi8>) -> tensor<1x8x2x2xi32> {
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %p = tensor.pad %x low[0, 0, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  } : tensor<1x4x6x6xi8> to tensor<1x4x7x6xi8>
  %empty = tensor.empty() : tensor<1x8x2x2xi32>
  %init = linalg.fill ins(%none : i32) outs(%empty : tensor<1x8x2x2xi32>) -> tensor<1x8x2x2xi32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<3> : tensor<2xi64>}
      ins(%p, %w : tensor<1x4x7x6xi8>, tensor<8x4x3x3xi8>) outs(%init : tensor<1x8x2x2xi32>) -> tensor<1x8x2x2xi32>
  return %r : tensor<1x8x2x2xi32>
}
"""


@pytest.mark.parametrize("device", ["toy", "npu4.0"])
def test_a_tile_as_large_as_the_tensor_begins_with_its_zeros(device: str) -> None:
    (function,) = npuflow.compile(SHIFTED, device=device).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    assert function.verified.message == "bit-exact"
