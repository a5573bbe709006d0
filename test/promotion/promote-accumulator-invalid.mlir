// RUN: npuflow-opt %s --npuflow-promote-accumulator --verify-diagnostics --split-input-file

func.func @dynamic(%a: tensor<?x8xi32>, %b: tensor<8x8xi32>, %c: tensor<?x8xi32>) -> tensor<?x8xi32> {
  // expected-error @below {{linalg.matmul is no matmul on static tensors with one m, n and k loop; hint: npuflow-check-input says what can be compiled}}
  %r = linalg.matmul ins(%a, %b : tensor<?x8xi32>, tensor<8x8xi32>) outs(%c : tensor<?x8xi32>) -> tensor<?x8xi32>
  return %r : tensor<?x8xi32>
}
