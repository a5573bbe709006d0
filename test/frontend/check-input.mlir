// What can be compiled passes unchanged and without a word.
// RUN: npuflow-opt %s --npuflow-check-input --mlir-print-ir-after-change 2>&1 | filecheck %s

// CHECK-NOT: IR Dump
// CHECK-NOT: error
// CHECK:     func.func @matmul
func.func @matmul(%a: tensor<8x32xf32>, %b: tensor<32x16xf32>, %bias: tensor<16xf32>, %scale: tensor<f32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias, %scale : tensor<8x16xf32>, tensor<16xf32>, tensor<f32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32, %out: f32):
    %p = arith.mulf %x, %s : f32
    %q = arith.addf %p, %y : f32
    linalg.yield %q : f32
  } -> tensor<8x16xf32>
  return %t : tensor<8x16xf32>
}

func.func @batch(%a: tensor<3x8x32xi8>, %b: tensor<3x32x16xi8>, %c: tensor<3x8x16xi32>) -> tensor<3x8x16xi32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x8x32xi8>, tensor<3x32x16xi8>) outs(%c : tensor<3x8x16xi32>) -> tensor<3x8x16xi32>
  return %r : tensor<3x8x16xi32>
}

func.func private @external(tensor<?xf32>)

func.func @no_matmul(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  return %a : tensor<4xi32>
}

module @inner {
}
