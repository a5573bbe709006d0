// RUN: npuflow-opt %s --npuflow-pack-operands --verify-diagnostics --split-input-file

func.func @dynamic(%a: tensor<?x8xi32>, %b: tensor<8x8xi32>, %c: tensor<?x8xi32>) -> tensor<?x8xi32> {
  // expected-error @below {{linalg.matmul is no matmul on static tensors with one m, n and k loop; hint: npuflow-check-input says what can be compiled}}
  %r = linalg.matmul ins(%a, %b : tensor<?x8xi32>, tensor<8x8xi32>) outs(%c : tensor<?x8xi32>) -> tensor<?x8xi32>
  return %r : tensor<?x8xi32>
}

// -----

func.func @no_strategy(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{linalg.matmul has no complete #npu.strategy, which npuflow-pack-operands needs; hint: run npuflow-assign-strategy before, or set this pass's options}}
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
