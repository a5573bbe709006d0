// Transposed and broadcast tensors are read as they lie.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-fold-views --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right:

// CHECK-LABEL: func.func @matmul
// CHECK-SAME:    %[[A:.*]]: tensor<8x32xf32>, %[[B:.*]]: tensor<16x32xf32>
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[A]], %[[B]] :
func.func @matmul(%a: tensor<8x32xf32>, %b: tensor<16x32xf32>, %c: tensor<8x16xf32>, %e: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %bt = linalg.transpose ins(%b : tensor<16x32xf32>) outs(%e : tensor<32x16xf32>) permutation = [1, 0]
  %r = linalg.matmul ins(%a, %bt : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// A window's expressions go where its dimensions were: NCHW to NHWC and a depthwise window on it.
// CHECK-LABEL: func.func @window
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x4x10x12xi8>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1 * 2 + d4, d2 + d5)>,
// CHECK-SAME:      ins(%[[X]],
// CHECK-NOT:     linalg.generic
func.func @window(%x: tensor<1x4x10x12xi8>, %w: tensor<2x3x4xi8>, %e: tensor<1x10x12x4xi8>, %c: tensor<1x5x10x4xi32>) -> tensor<1x5x10x4xi32> {
  %t = linalg.transpose ins(%x : tensor<1x4x10x12xi8>) outs(%e : tensor<1x10x12x4xi8>) permutation = [0, 2, 3, 1]
  %r = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<[2, 1]> : tensor<2xi64>} ins(%t, %w : tensor<1x10x12x4xi8>, tensor<2x3x4xi8>) outs(%c : tensor<1x5x10x4xi32>) -> tensor<1x5x10x4xi32>
  return %r : tensor<1x5x10x4xi32>
}

// Through two of them, by two users.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    %[[V:[^:]*]]: tensor<8xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
// CHECK-SAME:      ins(%{{.*}}, %[[V]] :
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>,
// CHECK-SAME:      ins(%[[V]], %{{.*}} :
// CHECK-NOT:     linalg.generic
func.func @chain(%v: tensor<8xf32>, %a: tensor<4x8xf32>, %e: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %b = linalg.broadcast ins(%v : tensor<8xf32>) outs(%e : tensor<8x4xf32>) dimensions = [1]
  %t = linalg.transpose ins(%b : tensor<8x4xf32>) outs(%a : tensor<4x8xf32>) permutation = [1, 0]
  %r = arith.addf %a, %t : tensor<4x8xf32>
  %s = arith.mulf %t, %a : tensor<4x8xf32>
  return %r, %s : tensor<4x8xf32>, tensor<4x8xf32>
}

// It is computed where a user cannot read it so: a result, an output, a matmul that would lose a loop.
// CHECK-LABEL: func.func @computed
// CHECK-COUNT-2: linalg.generic
// CHECK:         linalg.matmul ins(
// CHECK-COUNT-2: linalg.generic
// CHECK:         linalg.batch_matmul ins(
func.func @computed(%a: tensor<4x8xf32>, %v: tensor<8xf32>, %e: tensor<8x4xf32>, %c: tensor<4x4xf32>, %p: tensor<3x8x2xf32>, %q: tensor<8x3x2xf32>, %s: tensor<8x2x2xf32>)
    -> (tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x2x2xf32>) {
  %t = linalg.transpose ins(%a : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %b = linalg.broadcast ins(%v : tensor<8xf32>) outs(%e : tensor<8x4xf32>) dimensions = [1]
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = linalg.transpose ins(%p : tensor<3x8x2xf32>) outs(%q : tensor<8x3x2xf32>) permutation = [1, 0, 2]
  %g = linalg.transpose ins(%q : tensor<8x3x2xf32>) outs(%q : tensor<8x3x2xf32>) permutation = [0, 1, 2]
  %h = linalg.transpose ins(%s : tensor<8x2x2xf32>) outs(%s : tensor<8x2x2xf32>) permutation = [0, 2, 1]
  %e3 = tensor.empty() : tensor<8x2x3xf32>
  %k = linalg.transpose ins(%f : tensor<8x3x2xf32>) outs(%e3 : tensor<8x2x3xf32>) permutation = [0, 2, 1]
  %u = linalg.batch_matmul ins(%k, %g : tensor<8x2x3xf32>, tensor<8x3x2xf32>) outs(%h : tensor<8x2x2xf32>) -> tensor<8x2x2xf32>
  return %t, %r, %u : tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x2x2xf32>
}

// Slices of a transposed tensor are cut out of what was transposed, and read as they lie, for elementwise ops alone.
// CHECK-LABEL: func.func @slices
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x4x6xf32>
// CHECK-DAG:     %[[A:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [8, 4, 3] [1, 1, 1]
// CHECK-DAG:     %[[B:.*]] = tensor.extract_slice %[[X]][0, 0, 3] [8, 4, 3] [1, 1, 1]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d0, d2)>,
// CHECK-SAME:      ins(%[[A]], %[[B]] : tensor<8x4x3xf32>, tensor<8x4x3xf32>)
// CHECK-NOT:     linalg.generic
func.func @slices(%x: tensor<8x4x6xf32>, %e: tensor<4x8x6xf32>) -> tensor<4x8x3xf32> {
  %t = linalg.transpose ins(%x : tensor<8x4x6xf32>) outs(%e : tensor<4x8x6xf32>) permutation = [1, 0, 2]
  %a = tensor.extract_slice %t[0, 0, 0] [4, 8, 3] [1, 1, 1] : tensor<4x8x6xf32> to tensor<4x8x3xf32>
  %b = tensor.extract_slice %t[0, 0, 3] [4, 8, 3] [1, 1, 1] : tensor<4x8x6xf32> to tensor<4x8x3xf32>
  %r = arith.addf %a, %b : tensor<4x8x3xf32>
  return %r : tensor<4x8x3xf32>
}

// Also where dimensions of one element come between; a slice that is returned needs the tensor.
// CHECK-LABEL: func.func @unit_dims
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x4x6xf32>
// CHECK:         %[[A:.*]] = tensor.extract_slice %[[X]][2, 0, 3] [5, 4, 3] [1, 1, 1]
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0], [1, 2], [3]]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>,
// CHECK-SAME:      ins(%[[E]], %[[E]] : tensor<5x1x4x3xf32>, tensor<5x1x4x3xf32>)
// CHECK-LABEL: func.func @returned_slice
// CHECK:         linalg.generic
// CHECK:         tensor.extract_slice
func.func @unit_dims(%x: tensor<8x4x6xf32>, %e: tensor<4x8x6xf32>) -> tensor<1x4x5x3xf32> {
  %t = linalg.transpose ins(%x : tensor<8x4x6xf32>) outs(%e : tensor<4x8x6xf32>) permutation = [1, 0, 2]
  %u = tensor.expand_shape %t [[0, 1], [2], [3]] output_shape [1, 4, 8, 6] : tensor<4x8x6xf32> into tensor<1x4x8x6xf32>
  %a = tensor.extract_slice %u[0, 0, 2, 3] [1, 4, 5, 3] [1, 1, 1, 1] : tensor<1x4x8x6xf32> to tensor<1x4x5x3xf32>
  %r = arith.mulf %a, %a : tensor<1x4x5x3xf32>
  return %r : tensor<1x4x5x3xf32>
}

func.func @returned_slice(%x: tensor<8x4xf32>, %e: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %t = linalg.transpose ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  %a = tensor.extract_slice %t[0, 2] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  return %a : tensor<4x3xf32>
}
