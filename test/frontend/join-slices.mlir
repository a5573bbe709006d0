// Concatenations and inserted slices are padding, and a choice where two tensors meet.
// RUN: npuflow-opt %s --npuflow-join-slices --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// CHECK-LABEL: func.func @concat
// CHECK-DAG:     %[[P:.*]] = tensor.pad %arg0 low[0, 0] high[0, 5]
// CHECK-DAG:     %[[Q:.*]] = tensor.pad %arg1 low[0, 3] high[0, 0]
// CHECK-DAG:     %[[W:.*]] = arith.constant dense<[0, 0, 0, 1, 1, 1, 1, 1]> : tensor<8xi8>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[P]], %[[Q]], %[[W]] :
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[N:.*]]: i8, %{{.*}}: f32):
// CHECK:           %[[IS:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : i8
// CHECK:           arith.select %[[IS]], %[[B]], %[[A]] : f32
func.func @concat(%a: tensor<4x3xf32>, %b: tensor<4x5xf32>) -> tensor<4x8xf32> {
  %r = tensor.concat dim(1) %a, %b : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Many are joined in steps.
// CHECK-LABEL: func.func @many
// CHECK-COUNT-3: linalg.generic
func.func @many(%a: tensor<3xi8>, %b: tensor<2xi8>) -> tensor<23xi8> {
  %r = tensor.concat dim(0) %a, %b, %a, %b, %a, %b, %a, %b, %a
    : (tensor<3xi8>, tensor<2xi8>, tensor<3xi8>, tensor<2xi8>, tensor<3xi8>, tensor<2xi8>, tensor<3xi8>, tensor<2xi8>, tensor<3xi8>) -> tensor<23xi8>
  return %r : tensor<23xi8>
}

// Spread out, as a transposed convolution reads its input: a dimension more, padded and collapsed.
// CHECK-LABEL: func.func @spread
// CHECK:         tensor.expand_shape %arg0 {{\[}}[0, 1], [2]] output_shape [3, 1, 4]
// CHECK:         tensor.pad %{{.*}} low[0, 0, 0] high[0, 1, 0]
// CHECK:         tensor.collapse_shape %{{.*}} : tensor<3x2x4xf32> into tensor<6x4xf32>
// CHECK:         tensor.pad %{{.*}} low[1, 2] high[0, 2]
// CHECK-NOT:     linalg.generic
func.func @spread(%x: tensor<3x4xf32>) -> tensor<7x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<7x8xf32>) -> tensor<7x8xf32>
  %r = tensor.insert_slice %x into %f[1, 2] [3, 4] [2, 1] : tensor<3x4xf32> into tensor<7x8xf32>
  return %r : tensor<7x8xf32>
}

// Into another tensor, with dimensions of one that the slice lacks, and steps.
// CHECK-LABEL: func.func @into
// CHECK:         tensor.expand_shape %arg0 {{\[}}[0, 1, 2]] output_shape [1, 3, 1]
// CHECK-COUNT-3: arith.constant dense<{{.*}}> : tensor<{{.*}}xi8>
// CHECK:         linalg.generic
// CHECK-COUNT-2: arith.andi
// CHECK:         arith.select
func.func @into(%x: tensor<3xi16>, %y: tensor<2x7x5xi16>) -> tensor<2x7x5xi16> {
  %r = tensor.insert_slice %x into %y[1, 1, 4] [1, 3, 1] [1, 2, 1] : tensor<3xi16> into tensor<2x7x5xi16>
  return %r : tensor<2x7x5xi16>
}

// What is inserted may be another op's result.
// CHECK-LABEL: func.func @made
// CHECK:         %[[X:.*]] = tensor.expand_shape %arg0
// CHECK:         tensor.pad %[[X]] low[1, 2] high[2, 2]
func.func @made(%x: tensor<12xf32>) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %m = tensor.expand_shape %x [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %r = tensor.insert_slice %m into %f[1, 2] [3, 4] [1, 1] : tensor<3x4xf32> into tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
