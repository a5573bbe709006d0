// What was extended to a wider type is read as it was, by everybody, and extended in their bodies.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-fold-views --npuflow-fold-extensions --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-fold-extensions --each | filecheck %s --check-prefix=RIGHT
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right:

#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>

// A linear as torch-mlir writes it, and another one on the same input, which is read as it is as well.
// CHECK-LABEL: func.func @two_linears
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x32xbf16>, %[[W:[^:]*]]: tensor<16x32xbf16>, %[[V:[^:]*]]: tensor<32x16xbf16>
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[X]], %[[W]] : tensor<8x32xbf16>, tensor<16x32xbf16>) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.matmul ins(%[[X]], %[[V]] : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<8x32xbf16>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: bf16, %{{.*}}: f32):
// CHECK-NEXT:      %[[E:.*]] = arith.extf %[[IN]]
// CHECK-NEXT:      math.absf %[[E]]
// CHECK-NOT:     linalg.generic
func.func @two_linears(%x: tensor<8x32xbf16>, %w: tensor<16x32xbf16>, %v: tensor<32x16xbf16>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x32xbf16>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %f = arith.extf %in : bf16 to f32
    linalg.yield %f : f32
  } -> tensor<8x32xf32>
  %et = tensor.empty() : tensor<32x16xbf16>
  %t = linalg.transpose ins(%w : tensor<16x32xbf16>) outs(%et : tensor<32x16xbf16>) permutation = [1, 0]
  %eb = tensor.empty() : tensor<32x16xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<32x16xbf16>) outs(%eb : tensor<32x16xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %f = arith.extf %in : bf16 to f32
    linalg.yield %f : f32
  } -> tensor<32x16xf32>
  %c = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<32x16xbf16>) outs(%eb : tensor<32x16xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %f = arith.extf %in : bf16 to f32
    linalg.yield %f : f32
  } -> tensor<32x16xf32>
  %er = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%er : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  %s = linalg.matmul ins(%a, %c : tensor<8x32xf32>, tensor<32x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  %u = math.absf %a : tensor<8x32xf32>
  return %r, %s, %u : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x32xf32>
}

// Through a reshape, a slice and padding, to a window.
// CHECK-LABEL: func.func @moved
// CHECK-SAME:    %[[X:[^:]*]]: tensor<48xi8>, %[[W:[^:]*]]: tensor<3x3x2x4xi8>
// CHECK:         %[[R:.*]] = tensor.expand_shape %[[X]] {{.*}} into tensor<1x4x6x2xi8>
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[R]]{{.*}} to tensor<1x4x5x2xi8>
// CHECK:         %[[P:.*]] = tensor.pad %[[S]]
// CHECK:           tensor.yield %{{.*}} : i8
// CHECK:         linalg.generic {{.*}} ins(%[[P]], %[[W]] : tensor<1x6x7x2xi8>, tensor<3x3x2x4xi8>) outs(%{{.*}} : tensor<1x4x5x4xi32>)
// CHECK-NEXT:    ^bb0(%{{.*}}: i8, %{{.*}}: i8, %{{.*}}: i32):
// CHECK-COUNT-2:   arith.extsi
// CHECK-NOT:     linalg.generic
func.func @moved(%x: tensor<48xi8>, %w: tensor<3x3x2x4xi8>, %c: tensor<1x4x5x4xi32>) -> tensor<1x4x5x4xi32> {
  %zero = arith.constant 0 : i32
  %a = arith.extsi %x : tensor<48xi8> to tensor<48xi32>
  %b = arith.extsi %w : tensor<3x3x2x4xi8> to tensor<3x3x2x4xi32>
  %r = tensor.expand_shape %a [[0, 1, 2, 3]] output_shape [1, 4, 6, 2] : tensor<48xi32> into tensor<1x4x6x2xi32>
  %s = tensor.extract_slice %r[0, 0, 1, 0] [1, 4, 5, 2] [1, 1, 1, 1] : tensor<1x4x6x2xi32> to tensor<1x4x5x2xi32>
  %p = tensor.pad %s low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : i32
  } : tensor<1x4x5x2xi32> to tensor<1x6x7x2xi32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%p, %b : tensor<1x6x7x2xi32>, tensor<3x3x2x4xi32>) outs(%c : tensor<1x4x5x4xi32>) -> tensor<1x4x5x4xi32>
  return %y : tensor<1x4x5x4xi32>
}

// A broadcast, which a matmul cannot read through, is made of narrow elements.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME:    %[[V:[^:]*]]: tensor<8xbf16>, %[[W:[^:]*]]: tensor<32x16xbf16>
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%[[V]] : tensor<8xbf16>) outs(%{{.*}} : tensor<8x32xbf16>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      linalg.yield %in : bf16
// CHECK:         linalg.matmul ins(%[[B]], %[[W]] : tensor<8x32xbf16>, tensor<32x16xbf16>)
func.func @broadcast(%v: tensor<8xbf16>, %w: tensor<32x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#row, #same], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8xbf16>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %f = arith.extf %in : bf16 to f32
    linalg.yield %f : f32
  } -> tensor<8x32xf32>
  %b = arith.extf %w : tensor<32x16xbf16> to tensor<32x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// Both factors or none: no instruction multiplies bf16 by f32, nor what somebody else adds to first.
// CHECK-LABEL: func.func @one_factor
// CHECK:         linalg.generic
// CHECK:           arith.extf
// CHECK:         linalg.matmul ins(%{{.*}} : tensor<8x32xf32>, tensor<32x16xf32>)
func.func @one_factor(%x: tensor<8x32xbf16>, %w: tensor<32x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %a = arith.extf %x : tensor<8x32xbf16> to tensor<8x32xf32>
  %r = linalg.matmul ins(%a, %w : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// What is returned, written over or padded by another number is extended as a whole. A named op extends with a sign.
// CHECK-LABEL: func.func @needed
// CHECK:         %[[A:.*]] = linalg.generic
// CHECK:           arith.extf
// CHECK:         tensor.pad %[[A]] {{.*}}
// CHECK:         linalg.matmul ins({{.*}} : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:         linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<8x8xi32>, tensor<8x8xi32>)
// CHECK:         return %[[A]]
func.func @needed(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %u: tensor<8x8xi8>, %c: tensor<8x8xi32>)
    -> (tensor<8x32xf32>, tensor<9x32xf32>, tensor<8x16xf32>, tensor<8x8xi32>) {
  %third = arith.constant 0.3 : f32
  %a = arith.extf %x : tensor<8x32xbf16> to tensor<8x32xf32>
  %p = tensor.pad %a low[0, 0] high[1, 0] {
  ^bb0(%k: index, %l: index):
    tensor.yield %third : f32
  } : tensor<8x32xf32> to tensor<9x32xf32>
  %q = math.absf %p : tensor<9x32xf32>
  %b = arith.extf %w : tensor<32x16xbf16> to tensor<32x16xf32>
  %d = arith.extf %i : tensor<8x16xbf16> to tensor<8x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%d : tensor<8x16xf32>) -> tensor<8x16xf32>
  %v = arith.extui %u : tensor<8x8xi8> to tensor<8x8xi32>
  %s = linalg.matmul ins(%v, %v : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %a, %q, %r, %s : tensor<8x32xf32>, tensor<9x32xf32>, tensor<8x16xf32>, tensor<8x8xi32>
}

// Extended in two steps, as a variance in f64 reads what is bf16.
// CHECK-LABEL: func.func @two_steps
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x32xbf16>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<8x32xbf16>) outs(%{{.*}} : tensor<8xf64>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: bf16, %{{.*}}: f64):
// CHECK-NEXT:      %[[E:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[E]] : f32 to f64
// CHECK-NEXT:      arith.addf %[[W]]
func.func @two_steps(%x: tensor<8x32xbf16>) -> tensor<8xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x32xbf16>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<8x32xf32>
  %d = tensor.empty() : tensor<8x32xf64>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x32xf32>) outs(%d : tensor<8x32xf64>) {
  ^bb0(%in: f32, %out: f64):
    %w = arith.extf %in : f32 to f64
    linalg.yield %w : f64
  } -> tensor<8x32xf64>
  %g = tensor.empty() : tensor<8xf64>
  %f = linalg.fill ins(%zero : f64) outs(%g : tensor<8xf64>) -> tensor<8xf64>
  %s = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%b : tensor<8x32xf64>) outs(%f : tensor<8xf64>) {
  ^bb0(%in: f64, %out: f64):
    %t = arith.addf %in, %out : f64
    linalg.yield %t : f64
  } -> tensor<8xf64>
  return %s : tensor<8xf64>
}

// What is extended, transposed and only then reshaped is read narrow as well.
// CHECK-LABEL: func.func @transposed_and_reshaped
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<2x8x4xbf16>) outs(%{{.*}} : tensor<2x4x8xbf16>)
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[T]] {{.*}} : tensor<2x4x8xbf16> into tensor<8x8xbf16>
// CHECK:         linalg.matmul ins(%[[C]], %arg1 : tensor<8x8xbf16>, tensor<8x16xbf16>)
func.func @transposed_and_reshaped(%x: tensor<2x8x4xbf16>, %w: tensor<8x16xbf16>, %f: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<2x8x4xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x8x4xbf16>) outs(%e : tensor<2x8x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x4x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<2x8x4xf32>) outs(%d : tensor<2x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x8xf32>
  %c = tensor.collapse_shape %t [[0, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
  %g = tensor.empty() : tensor<8x16xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x16xbf16>) outs(%g : tensor<8x16xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %v = arith.extf %in : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  %r = linalg.matmul ins(%c, %b : tensor<8x8xf32>, tensor<8x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// What computes with a constant integer as well is no extension, and stays.
// CHECK-LABEL: func.func @more_than_extended
// CHECK:         linalg.generic {{.*}} ins(%arg0 : tensor<8x32xi8>) outs(%{{.*}} : tensor<8x32xi32>)
// CHECK:           arith.addi
func.func @more_than_extended(%x: tensor<8x32xi8>) -> tensor<8x32xi32> {
  %e = tensor.empty() : tensor<8x32xi32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x32xi8>) outs(%e : tensor<8x32xi32>) {
  ^bb0(%in: i8, %out: i32):
    %one = arith.constant 1 : i32
    %w = arith.extsi %in : i8 to i32
    %s = arith.addi %w, %one : i32
    linalg.yield %s : i32
  } -> tensor<8x32xi32>
  return %a : tensor<8x32xi32>
}
