// What is computed of a factor is made once, by an op in front of the sum of products.
// RUN: npuflow-opt %s --npuflow-detach-factors --mlir-print-local-scope --split-input-file | filecheck %s

#a = affine_map<(b, g, m, n, k) -> (b, g, m, k)>
#b = affine_map<(b, g, m, n, k) -> (b, n, k)>
#k = affine_map<(b, g, m, n, k) -> (k)>
#r = affine_map<(b, g, m, n, k) -> (b, g, m, n)>

// Both factors are chosen by the same comparison, and each has one of its own; neither is made for loops it doesn't follow.
// CHECK-LABEL: func.func @both
// CHECK:         [[LEFT:%[0-9]+]] = linalg.generic {{.*}} : tensor<2x3x8x16xbf16>) {
// CHECK:           arith.cmpi
// CHECK:         [[RIGHT:%[0-9]+]] = linalg.generic {{.*}} : tensor<2x32x16xbf16>) {
// CHECK:           arith.cmpi
// CHECK:         linalg.generic {{.*}}ins([[LEFT]], [[RIGHT]]
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
func.func @both(%x: tensor<2x3x8x16xf32>, %y: tensor<2x32x16xf32>, %which: tensor<16xi8>, %s: tensor<2x3x8x32xf32>) -> tensor<2x3x8x32xf32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #k, #r], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %y, %which : tensor<2x3x8x16xf32>, tensor<2x32x16xf32>, tensor<16xi8>) outs(%s : tensor<2x3x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %w: i8, %o: f32):
    %half = arith.constant 0.5 : f64
    %z = arith.constant 0.0 : f32
    %one = arith.constant 1 : i8
    %scale = arith.truncf %half : f64 to f32
    %is = arith.cmpi eq, %w, %one : i8
    %b0 = arith.select %is, %b, %z : f32
    %b1 = arith.mulf %b0, %scale : f32
    %b2 = arith.truncf %b1 : f32 to bf16
    %a0 = arith.select %is, %z, %a : f32
    %a1 = arith.mulf %a0, %scale : f32
    %a2 = arith.truncf %a1 : f32 to bf16
    %a3 = arith.extf %a2 : bf16 to f32
    %b3 = arith.extf %b2 : bf16 to f32
    %p = arith.mulf %a3, %b3 : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x3x8x32xf32>
  return %r : tensor<2x3x8x32xf32>
}

// -----

// A zero point would make the left factor four times as large, and the right one is read as it is.
// CHECK-LABEL: func.func @larger
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @larger(%x: tensor<8x16xi8>, %y: tensor<16x32xi8>, %s: tensor<8x32xi32>) -> tensor<8x32xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<8x16xi8>, tensor<16x32xi8>) outs(%s : tensor<8x32xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %zero = arith.constant 3 : i32
    %a0 = arith.extsi %a : i8 to i32
    %a1 = arith.subi %a0, %zero : i32
    %b0 = arith.extsi %b : i8 to i32
    %p = arith.muli %a1, %b0 : i32
    %t = arith.addi %o, %p : i32
    linalg.yield %t : i32
  } -> tensor<8x32xi32>
  return %r : tensor<8x32xi32>
}

// -----

// A window's neighbours share what they read.
// CHECK-LABEL: func.func @window
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @window(%x: tensor<10x16xf32>, %y: tensor<3x16x32xbf16>, %s: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, w, k) -> (m + w, k)>, affine_map<(m, n, w, k) -> (w, k, n)>, affine_map<(m, n, w, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %y : tensor<10x16xf32>, tensor<3x16x32xbf16>) outs(%s : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: bf16, %o: f32):
    %a0 = arith.truncf %a : f32 to bf16
    %a1 = arith.extf %a0 : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// -----

// Nobody multiplies two types: what is narrower than the other factor is extended in front.
// CHECK-LABEL: func.func @mixed
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<16x32xbf16>) outs(%{{.*}} : tensor<16x32xf32>)
// CHECK:         linalg.generic {{.*}} ins(%arg0, %[[B]] : tensor<8x16xf32>, tensor<16x32xf32>)
func.func @mixed(%x: tensor<8x16xf32>, %y: tensor<16x32xbf16>, %s: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<8x16xf32>, tensor<16x32xbf16>) outs(%s : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: bf16, %o: f32):
    %b0 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a, %b0 : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// -----

// A square's factor is multiplied once.
// CHECK-LABEL: func.func @square
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @square(%x: tensor<8x16xf32>, %mean: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %mean : tensor<8x16xf32>, tensor<8xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %p = arith.mulf %d, %d : f32
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
