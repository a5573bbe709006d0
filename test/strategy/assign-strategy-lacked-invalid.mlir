// What is no level with more needed than there is.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy --split-input-file --verify-diagnostics

// expected-error @below {{npu.lacked says 7 : i64; hint: for example npu.lacked = [array<i64: 2, 34, 24>]: level 2 needs 34 descriptors and has 24}}
func.func @number(%a: tensor<16x16xi32>, %b: tensor<16x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> attributes {npu.lacked = 7 : i64} {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// expected-error @below {{npu.lacked says array<i64: 2, 24, 34>; hint: for example}}
func.func @enough(%a: tensor<16x16xi32>, %b: tensor<16x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32>
    attributes {npu.lacked = [array<i64: 2, 24, 34>]} {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// expected-error @below {{npu.lacked says array<i64: 4, 34, 24>; hint: for example}}
func.func @level(%a: tensor<16x16xi32>, %b: tensor<16x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32>
    attributes {npu.lacked = [array<i64: 4, 34, 24>]} {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}
