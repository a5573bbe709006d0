// Weights are constants until the last pass: globals in memory, whose elements are converted where they are read in 64 bits.

// RUN: npuflow verify %s --device=toy --pipeline=npuflow-stream-k | filecheck %s
// CHECK: npuflow-check-memory{device=toy} ok max error {{.*}} in 64 bits {{.*}} of
// CHECK-NEXT: right: @weights

func.func @weights(%x: tensor<5x4xf32>) -> tensor<5x3xf32> {
  %w = arith.constant dense<[[0.5, -1.0, 2.0], [3.0, 0.25, -0.125], [1.0, 1.5, -2.5], [7.0, -0.75, 0.0]]> : tensor<4x3xf32>
  %zero = arith.constant dense<0.0> : tensor<5x3xf32>
  %r = linalg.matmul ins(%x, %w : tensor<5x4xf32>, tensor<4x3xf32>) outs(%zero : tensor<5x3xf32>) -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}
