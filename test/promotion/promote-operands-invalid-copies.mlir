// Copies in pieces need the size of a piece.
// RUN: npuflow-opt %s --npuflow-promote-operands=tile-copies=true --verify-diagnostics
// RUN: not npuflow-opt %s --npuflow-promote-operands='tile-copies=true copy-k=0' 2>&1 | filecheck %s

// CHECK: error: npuflow-promote-operands was given sizes 0; hint: sizes start at 1
func.func @no_strategy(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{linalg.matmul has no complete #npu.strategy, which npuflow-promote-operands needs}}
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
