// What is no level with more needed than there is.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy --split-input-file --verify-diagnostics

// expected-error @below {{npu.lacked says 7 : i64; hint: for example npu.lacked = [{level = 2 : i64, descriptors = array<i64: 34, 24>}]: level 2 needs 34 descriptors and has 24}}
func.func @number(%a: tensor<16x16xi32>, %b: tensor<16x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> attributes {npu.lacked = 7 : i64} {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// expected-error @below {{npu.lacked says {descriptors = array<i64: 24, 34>, level = 2 : i64}; hint: for example}}
func.func @enough(%a: tensor<16x16xi32>, %b: tensor<16x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32>
    attributes {npu.lacked = [{level = 2 : i64, descriptors = array<i64: 24, 34>}]} {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// expected-error @below {{npu.lacked says {descriptors = array<i64: 34, 24>, level = 4 : i64}; hint: for example}}
func.func @level(%a: tensor<16x16xi32>, %b: tensor<16x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32>
    attributes {npu.lacked = [{level = 4 : i64, descriptors = array<i64: 34, 24>}]} {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}
