"""What the report says of functions without matmuls: how they are mapped, what they multiply, what they must move."""

from __future__ import annotations

from judges import JUDGE

import npuflow

# Every other row and column of x is read: 4x4 of 8x8 pixels, 16 channels.
STRIDED = """
func.func @strided(%x: tensor<1x8x8x16xi8>, %w: tensor<1x1x16x32xi8>) -> tensor<1x4x4x32xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x4x4x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x4x4x32xi32>) -> tensor<1x4x4x32xi32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x8x8x16xi8>, tensor<1x1x16x32xi8>) outs(%f : tensor<1x4x4x32xi32>) -> tensor<1x4x4x32xi32>
  return %r : tensor<1x4x4x32xi32>
}
"""
MATVEC = """
func.func @matvec(%a: tensor<64x128xi32>, %x: tensor<128xi32>) -> tensor<64xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64xi32>) -> tensor<64xi32>
  %r = linalg.matvec ins(%a, %x : tensor<64x128xi32>, tensor<128xi32>) outs(%f : tensor<64xi32>) -> tensor<64xi32>
  return %r : tensor<64xi32>
}
"""


def test_a_stride_needs_less_than_its_operand() -> None:
    (function,) = npuflow.compile(STRIDED, device="npu1").run(verify=True, judge=JUDGE).functions
    assert function.verified.status.value == "ok"
    assert function.macs == 4 * 4 * 32 * 16
    outer = function.traffic[0]
    assert outer.lower_bound_bytes == 4 * 4 * 16 + 16 * 32 + 4 * 4 * 32 * 4
    assert outer.compulsory_bytes == 8 * 8 * 16 + 16 * 32 + 4 * 4 * 32 * 4
    assert outer.read_bytes + outer.write_bytes >= outer.lower_bound_bytes
    assert {"spread", "tile_l1", "stream", "order"} <= set(function.strategy)


def test_a_matrix_vector_product_multiplies_without_matrix_instructions() -> None:
    (function,) = npuflow.compile(MATVEC, device="npu1").run(verify=False).functions
    assert function.macs == 64 * 128
    assert function.ops_per_second > 0
    assert function.peak_ops_per_second == 0
    assert function.traffic[0].lower_bound_bytes == 4 * (64 * 128 + 128 + 64)
