// What a device has no instruction for is computed in a type that loses nothing, and a remark says so.
// RUN: npuflow-opt %s --npuflow-stream-k=device=npu1 --stop-after=assign-strategy --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-stream-k=device=npu1 --npuflow-schedule -o %t
// RUN: npuflow verify %s --pipeline="npuflow-stream-k{device=toy}" | filecheck %s --check-prefix=RIGHT

// CHECK-COUNT-2: remark: [npuflow-assign-strategy] f16 is computed as f32: npu1 has no instruction for f16
// CHECK:         remark: [npuflow-assign-strategy] f16 is computed as f32: npu1 has no instruction for f16
// CHECK-NOT:     computed as

// RIGHT-NOT: wrong
// RIGHT:     right: @matmul{{.*}}@sum_in_f16{{.*}}@window

func.func @matmul(%a: tensor<17x33xf16>, %b: tensor<33x21xf16>, %c: tensor<17x21xf32>) -> tensor<17x21xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<17x33xf16>, tensor<33x21xf16>) outs(%c : tensor<17x21xf32>) -> tensor<17x21xf32>
  return %r : tensor<17x21xf32>
}

func.func @sum_in_f16(%a: tensor<17x33xf16>, %b: tensor<33x21xf16>, %c: tensor<17x21xf16>) -> tensor<17x21xf16> {
  %r = linalg.matmul ins(%a, %b : tensor<17x33xf16>, tensor<33x21xf16>) outs(%c : tensor<17x21xf16>) -> tensor<17x21xf16>
  return %r : tensor<17x21xf16>
}

// A window, whose pixels and channels make up instructions.
func.func @window(%x: tensor<1x8x8x4xf16>, %w: tensor<3x3x4x8xf16>, %c: tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32> {
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x8x8x4xf16>, tensor<3x3x4x8xf16>) outs(%c : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  return %r : tensor<1x6x6x8xf32>
}

// It has instructions for others.
func.func @bf16(%a: tensor<16x16xbf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = linalg.matmul ins(%a, %a : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
