// A matmul that reads what a cheap elementwise op makes for it alone is a linalg.generic, so that the two become a bundle.
// RUN: npuflow-opt %s --npuflow-expose-heads | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-expose-heads --each | filecheck %s --check-prefix=RIGHT
// RIGHT: npuflow-expose-heads {{ +}}@dequantised {{ +}}ok

#same = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @dequantised
// CHECK:         %[[D:.*]] = linalg.generic
// CHECK:           arith.sitofp
// CHECK-NOT:     linalg.matmul
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[D]] :
// CHECK:           arith.mulf
// CHECK:           arith.addf
func.func @dequantised(%a: tensor<8x32xf32>, %w: tensor<32x16xi8>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<32x16xf32>
  %d = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<32x16xi8>) outs(%e : tensor<32x16xf32>) {
  ^bb0(%x: i8, %out: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<32x16xf32>
  %r = linalg.matmul ins(%a, %d : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// What somebody else reads as well has to be made anyway.
// CHECK-LABEL: func.func @read_twice
// CHECK:         arith.sitofp
// CHECK:         linalg.matmul
func.func @read_twice(%a: tensor<8x32xf32>, %w: tensor<32x16xi8>, %c: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<32x16xf32>) {
  %e = tensor.empty() : tensor<32x16xf32>
  %d = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<32x16xi8>) outs(%e : tensor<32x16xf32>) {
  ^bb0(%x: i8, %out: f32):
    %f = arith.sitofp %x : i8 to f32
    linalg.yield %f : f32
  } -> tensor<32x16xf32>
  %r = linalg.matmul ins(%a, %d : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r, %d : tensor<8x16xf32>, tensor<32x16xf32>
}

// There is nothing to do for a matmul alone.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    linalg.matmul ins(%{{.*}}, %{{.*}} :
// CHECK-NEXT:    return
func.func @alone(%a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %c: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<1x1xf32>, tensor<1x1xf32>) outs(%c : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}
