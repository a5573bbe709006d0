// Odd but legal inputs compile: nothing to do, chains, one tensor in several places, constants, unused results.
// RUN: npuflow-opt %s --npuflow-stream-k=device=toy --split-input-file | filecheck %s
// RUN: npuflow-opt %s --npuflow-pad-pack=device=toy --split-input-file | filecheck %s
// RUN: npuflow-opt %s --npuflow-pack-peel=device=toy --split-input-file | filecheck %s

// CHECK: module

// -----

// CHECK: func.func private @declared(memref<8x8xf32>) -> memref<8x8xf32>
func.func private @declared(tensor<8x8xf32>) -> tensor<8x8xf32>

// -----

// CHECK-LABEL: func.func @chain
// CHECK-COUNT-2: arith.mulf
func.func @chain(%a: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = linalg.matmul ins(%a, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %t = linalg.max ins(%r, %f : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.matmul ins(%t, %t : tensor<16x16xf32>, tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// -----

// CHECK-LABEL: func.func @constants
// CHECK-COUNT-2: memref.get_global
// CHECK:         arith.muli
func.func @constants() -> tensor<16x16xi32> {
  %w = arith.constant dense<2> : tensor<16x16xi32>
  %c = arith.constant dense<1> : tensor<16x16xi32>
  %r = linalg.matmul ins(%w, %w : tensor<16x16xi32>, tensor<16x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// CHECK-LABEL: func.func @results
// CHECK-COUNT-1: arith.muli
// CHECK-NOT:     arith.muli
func.func @results(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> (tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>) {
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  %unused = linalg.matmul ins(%r, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r, %r, %a : tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>
}

// -----

// CHECK-LABEL: func.func @ones
// CHECK:         memref<1x1x4x8xi32, 2>
func.func @ones(%a: tensor<1x1xi8>, %b: tensor<1x1xi8>, %c: tensor<1x1xi32>) -> tensor<1x1xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<1x1xi8>, tensor<1x1xi8>) outs(%c : tensor<1x1xi32>) -> tensor<1x1xi32>
  return %r : tensor<1x1xi32>
}
