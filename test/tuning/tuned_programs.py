"""Programs that are tuned in tests, small enough for seconds."""

from __future__ import annotations

MATMUL = """
func.func @product(%a: tensor<64x64xi8>, %b: tensor<64x32xi8>) -> tensor<64x32xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x32xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x32xi32>) -> tensor<64x32xi32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xi8>, tensor<64x32xi8>)
    outs(%fill : tensor<64x32xi32>) -> tensor<64x32xi32>
  return %c : tensor<64x32xi32>
}
"""
# A 1x1 convolution becomes a matmul between reshapes, both of which are written anew when it is read again.
POINTWISE = """
func.func @pointwise(%x: tensor<1x8x8x16xi8>, %w: tensor<1x1x16x32xi8>) -> tensor<1x8x8x32xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x8x8x32xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x8x8x32xi32>) -> tensor<1x8x8x32xi32>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x8x8x16xi8>, tensor<1x1x16x32xi8>) outs(%fill : tensor<1x8x8x32xi32>) -> tensor<1x8x8x32xi32>
  return %c : tensor<1x8x8x32xi32>
}
"""
SOFTMAX = """
func.func @softmax(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %empty = tensor.empty() : tensor<32x64xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<32x64xf32>) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
"""
# One schedule on toy; on npu1, whose cores have fewer locks, a sequence.
CHAIN = """
func.func @chain(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p = linalg.matmul ins(%a, %b : tensor<32x32xf32>, tensor<32x32xf32>)
    outs(%fill : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = linalg.softmax dimension(1) ins(%p : tensor<32x32xf32>) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %q = linalg.matmul ins(%s, %b : tensor<32x32xf32>, tensor<32x32xf32>)
    outs(%fill : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %q : tensor<32x32xf32>
}
"""
# Both sums are one bundle with what adds them up, unless nothing may be fused.
JOINED = """
func.func @joined(%x: tensor<1x8x9x9xbf16>, %u: tensor<1x8x9x9xbf16>, %v: tensor<8x8x3x3xbf16>)
    -> tensor<1x8x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x7x7xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x8x9x9xbf16>, tensor<8x8x3x3xbf16>)
    outs(%fill : tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  %b = linalg.conv_2d_nchw_fchw ins(%u, %v : tensor<1x8x9x9xbf16>, tensor<8x8x3x3xbf16>)
    outs(%fill : tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  %r = linalg.add ins(%a, %b : tensor<1x8x7x7xf32>, tensor<1x8x7x7xf32>)
    outs(%empty : tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  return %r : tensor<1x8x7x7xf32>
}
"""
