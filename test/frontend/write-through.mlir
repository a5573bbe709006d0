// What is written into a slice that is put back into an argument is written there at once.
// RUN: npuflow-opt %s --npuflow-write-through --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// A layer's cache in those of all layers: who reads the layer's reads a slice of what there is afterwards.
// CHECK-LABEL: func.func @layer
// CHECK:         %[[ALL:.*]] = tensor.insert_slice %arg1 into %arg0[1, 9, 0] [1, 1, 32] [1, 1, 1] : tensor<1x32xf32> into tensor<4x64x32xf32>
// CHECK-NEXT:    %[[LAYER:.*]] = tensor.extract_slice %[[ALL]][1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<4x64x32xf32> to tensor<64x32xf32>
// CHECK-NOT:     insert_slice
// CHECK:         linalg.exp ins(%[[LAYER]]
// CHECK:         return %{{.*}}, %[[ALL]]
func.func @layer(%all: tensor<4x64x32xf32> {npu.becomes = 1 : i64}, %row: tensor<1x32xf32>) -> (tensor<64x32xf32>, tensor<4x64x32xf32>) {
  %s = tensor.extract_slice %all[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<4x64x32xf32> to tensor<64x32xf32>
  %t = tensor.insert_slice %row into %s[9, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<64x32xf32>
  %r = tensor.insert_slice %t into %all[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<64x32xf32> into tensor<4x64x32xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %u = linalg.exp ins(%t : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %u, %r : tensor<64x32xf32>, tensor<4x64x32xf32>
}

// Two layers one after the other, with reshapes between, as PyTorch writes them.
// CHECK-LABEL: func.func @layers
// CHECK:         %[[FIRST:.*]] = tensor.insert_slice %arg1 into %arg0[0, 0, 3, 0] [1, 2, 1, 8] [1, 1, 1, 1] : tensor<2x1x8xf32> into tensor<2x2x16x8xf32>
// CHECK-NOT:     extract_slice
// CHECK:         %[[SECOND:.*]] = tensor.insert_slice %arg1 into %[[FIRST]][1, 0, 5, 0] [1, 2, 1, 8] [1, 1, 1, 1]
// CHECK-NEXT:    return %[[SECOND]]
func.func @layers(%all: tensor<2x2x16x8xf32> {npu.becomes = 0 : i64}, %x: tensor<2x1x8xf32>) -> tensor<2x2x16x8xf32> {
  %s = tensor.extract_slice %all[0, 0, 0, 0] [1, 2, 16, 8] [1, 1, 1, 1] : tensor<2x2x16x8xf32> to tensor<1x2x16x8xf32>
  %c = tensor.collapse_shape %s [[0, 1], [2], [3]] : tensor<1x2x16x8xf32> into tensor<2x16x8xf32>
  %t = tensor.insert_slice %x into %c[0, 3, 0] [2, 1, 8] [1, 1, 1] : tensor<2x1x8xf32> into tensor<2x16x8xf32>
  %p = tensor.expand_shape %t [[0, 1], [2], [3]] output_shape [1, 2, 16, 8] : tensor<2x16x8xf32> into tensor<1x2x16x8xf32>
  %r = tensor.insert_slice %p into %all[0, 0, 0, 0] [1, 2, 16, 8] [1, 1, 1, 1] : tensor<1x2x16x8xf32> into tensor<2x2x16x8xf32>
  %s1 = tensor.extract_slice %r[1, 0, 0, 0] [1, 2, 16, 8] [1, 1, 1, 1] : tensor<2x2x16x8xf32> to tensor<2x16x8xf32>
  %t1 = tensor.insert_slice %x into %s1[0, 5, 0] [2, 1, 8] [1, 1, 1] : tensor<2x1x8xf32> into tensor<2x16x8xf32>
  %r1 = tensor.insert_slice %t1 into %r[1, 0, 0, 0] [1, 2, 16, 8] [1, 1, 1, 1] : tensor<2x16x8xf32> into tensor<2x2x16x8xf32>
  return %r1 : tensor<2x2x16x8xf32>
}

// Put back elsewhere, or of another tensor: nothing changes.
// CHECK-LABEL: func.func @elsewhere
// CHECK-COUNT-4: tensor.insert_slice
func.func @elsewhere(%all: tensor<4x8x8xf32> {npu.becomes = 0 : i64}, %other: tensor<4x8x8xf32> {npu.becomes = 1 : i64}, %row: tensor<1x8xf32>) -> (tensor<4x8x8xf32>, tensor<4x8x8xf32>) {
  %s = tensor.extract_slice %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
  %t = tensor.insert_slice %row into %s[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<8x8xf32>
  %r = tensor.insert_slice %t into %all[2, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<8x8xf32> into tensor<4x8x8xf32>
  %s1 = tensor.extract_slice %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
  %t1 = tensor.insert_slice %row into %s1[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<8x8xf32>
  %r1 = tensor.insert_slice %t1 into %other[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<8x8xf32> into tensor<4x8x8xf32>
  return %r, %r1 : tensor<4x8x8xf32>, tensor<4x8x8xf32>
}

// What was read of the slice as it was is still read so.
// CHECK-LABEL: func.func @as_it_was
// CHECK:         %[[OLD:.*]] = tensor.extract_slice %arg0[1, 0, 0]
// CHECK:         tensor.insert_slice %arg1 into %arg0[1, 2, 0]
// CHECK:         linalg.exp ins(%[[OLD]]
func.func @as_it_was(%all: tensor<4x8x8xf32> {npu.becomes = 1 : i64}, %row: tensor<1x8xf32>) -> (tensor<8x8xf32>, tensor<4x8x8xf32>) {
  %s = tensor.extract_slice %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
  %t = tensor.insert_slice %row into %s[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<8x8xf32>
  %r = tensor.insert_slice %t into %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<8x8xf32> into tensor<4x8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %u = linalg.exp ins(%s : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %u, %r : tensor<8x8xf32>, tensor<4x8x8xf32>
}

// No result takes the argument's place.
// CHECK-LABEL: func.func @not_said
// CHECK-COUNT-2: tensor.insert_slice
func.func @not_said(%all: tensor<4x8x8xf32>, %row: tensor<1x8xf32>) -> tensor<4x8x8xf32> {
  %s = tensor.extract_slice %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
  %t = tensor.insert_slice %row into %s[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<8x8xf32>
  %r = tensor.insert_slice %t into %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<8x8xf32> into tensor<4x8x8xf32>
  return %r : tensor<4x8x8xf32>
}

// Dimensions are put together between: which rows of the tensor are written isn't one slice of it.
// CHECK-LABEL: func.func @together
// CHECK-COUNT-2: tensor.insert_slice
func.func @together(%all: tensor<4x8x8xf32> {npu.becomes = 0 : i64}, %x: tensor<5xf32>) -> tensor<4x8x8xf32> {
  %s = tensor.extract_slice %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<4x8x8xf32> to tensor<8x8xf32>
  %c = tensor.collapse_shape %s [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %t = tensor.insert_slice %x into %c[6] [5] [1] : tensor<5xf32> into tensor<64xf32>
  %p = tensor.expand_shape %t [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %r = tensor.insert_slice %p into %all[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<8x8xf32> into tensor<4x8x8xf32>
  return %r : tensor<4x8x8xf32>
}
