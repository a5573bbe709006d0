// A slice that is returned, or collapsed across its gaps, is moved by an op; others are read where they lie.
// RUN: npuflow-opt %s --npuflow-compute-slices --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// CHECK-LABEL: func.func @returned
// CHECK:         %[[S:.*]] = tensor.extract_slice
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<1x8x4xf32>)
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[R]]
// CHECK:         return %[[C]]
func.func @returned(%x: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %s = tensor.extract_slice %x[0, 4] [8, 4] [1, 1] : tensor<8x16xf32> to tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @collapsed
// CHECK:         %[[S:.*]] = tensor.extract_slice
// CHECK:         linalg.generic {{.*}} ins(%[[S]] : tensor<3x8x4xf32>)
// CHECK:         tensor.collapse_shape %{{.*}} : tensor<3x8x4xf32> into tensor<3x32xf32>
func.func @collapsed(%x: tensor<3x8x16xf32>) -> tensor<3x32xf32> {
  %s = tensor.extract_slice %x[0, 0, 4] [3, 8, 4] [1, 1, 1] : tensor<3x8x16xf32> to tensor<3x8x4xf32>
  %c = tensor.collapse_shape %s [[0], [1, 2]] : tensor<3x8x4xf32> into tensor<3x32xf32>
  %e = tensor.empty() : tensor<3x32xf32>
  %r = linalg.exp ins(%c : tensor<3x32xf32>) outs(%e : tensor<3x32xf32>) -> tensor<3x32xf32>
  return %r : tensor<3x32xf32>
}

// CHECK-LABEL: func.func @where_it_lies
// CHECK-NOT:     linalg.generic
func.func @where_it_lies(%x: tensor<3x8x16xf32>) -> tensor<24x2x2xf32> {
  %s = tensor.extract_slice %x[0, 0, 4] [3, 8, 4] [1, 1, 1] : tensor<3x8x16xf32> to tensor<3x8x4xf32>
  %c = tensor.collapse_shape %s [[0, 1], [2]] : tensor<3x8x4xf32> into tensor<24x4xf32>
  %d = tensor.expand_shape %c [[0], [1, 2]] output_shape [24, 2, 2] : tensor<24x4xf32> into tensor<24x2x2xf32>
  %e = tensor.empty() : tensor<24x2x2xf32>
  %r = linalg.exp ins(%d : tensor<24x2x2xf32>) outs(%e : tensor<24x2x2xf32>) -> tensor<24x2x2xf32>
  return %r : tensor<24x2x2xf32>
}
