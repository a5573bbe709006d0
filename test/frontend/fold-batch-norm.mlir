// A batch norm behind a sum of products is folded into its weights, and what is left of it is one addition.
// Scales here are powers of two, so that no weight is rounded and verification sees the same numbers.
// RUN: npuflow-opt %s --npuflow-fold-batch-norm --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-fold-batch-norm --each | filecheck %s --check-prefix=RIGHT
// RUN: npuflow-opt %s --npuflow-fold-batch-norm -o %t
// RUN: npuflow run %t --device=toy | filecheck %s --check-prefix=EXECUTED
// RIGHT-NOT: wrong
// RIGHT:     right: @convolution{{.*}}@linear{{.*}}@stays
// EXECUTED-COUNT-3: verified    max error

#image = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c, 0, 0)>
#same = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>

// A convolution with a bias that its sums begin at, as torch-mlir writes it.
// CHECK-LABEL: func.func @convolution
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x6x6xf32>
// CHECK-DAG:     %[[W:.*]] = arith.constant dense<{{.*}}> : tensor<3x2x2x2xf32>
// CHECK-DAG:     %[[B:.*]] = arith.constant dense<{{.*}}> : tensor<3xf32>
// CHECK:         %[[V:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK-SAME:      ins(%[[W]], %[[SCALE:[^ ]*]] :
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      linalg.yield
// CHECK:         %[[R:.*]] = linalg.conv_2d_nchw_fchw ins(%[[X]], %[[V]] :
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} ins(%[[B]], %{{.*}}, %[[SCALE]], %{{.*}} : tensor<3xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.subf
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      linalg.yield
// CHECK:         linalg.generic {{.*}} ins(%[[R]], %[[S]] : tensor<1x3x5x5xf32>, tensor<3xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      linalg.yield
// CHECK-NOT:     linalg.generic
func.func @convolution(%x: tensor<1x2x6x6xf32>) -> tensor<1x3x5x5xf32> {
  %w = arith.constant dense<[[[[0.5, -1.25], [0.375, 2.0]], [[0.125, 0.25], [-0.5, 0.75]]], [[[1.5, 1.0], [0.875, -0.625]], [[0.75, 0.375], [-2.0, 0.125]]], [[[0.25, -0.375], [0.5, 0.625]], [[1.125, -0.875], [0.625, 0.0625]]]]> : tensor<3x2x2x2xf32>
  %b = arith.constant dense<[0.125, -0.25, 0.375]> : tensor<3xf32>
  %mean = arith.constant dense<[0.75, 0.25, -1.5]> : tensor<3xf32>
  %variance = arith.constant dense<[4.0, 0.25, 1.0]> : tensor<3xf32>
  %shift = arith.constant dense<[0.0, 1.0, -0.75]> : tensor<3xf32>
  %e = tensor.empty() : tensor<1x3x5x5xf32>
  %e1 = tensor.empty() : tensor<3xf32>
  %init = linalg.broadcast ins(%b : tensor<3xf32>) outs(%e : tensor<1x3x5x5xf32>) dimensions = [0, 2, 3]
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x2x6x6xf32>, tensor<3x2x2x2xf32>) outs(%init : tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32>
  %root = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%variance : tensor<3xf32>) outs(%e1 : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.rsqrt %in : f32
    linalg.yield %v : f32
  } -> tensor<3xf32>
  %m3 = tensor.expand_shape %mean [[0, 1, 2]] output_shape [3, 1, 1] : tensor<3xf32> into tensor<3x1x1xf32>
  %a = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r, %m3 : tensor<1x3x5x5xf32>, tensor<3x1x1xf32>) outs(%e : tensor<1x3x5x5xf32>) {
  ^bb0(%in: f32, %c: f32, %out: f32):
    %v = arith.subf %in, %c : f32
    linalg.yield %v : f32
  } -> tensor<1x3x5x5xf32>
  %r3 = tensor.expand_shape %root [[0, 1, 2]] output_shape [3, 1, 1] : tensor<3xf32> into tensor<3x1x1xf32>
  %s = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a, %r3 : tensor<1x3x5x5xf32>, tensor<3x1x1xf32>) outs(%e : tensor<1x3x5x5xf32>) {
  ^bb0(%in: f32, %c: f32, %out: f32):
    %v = arith.mulf %in, %c : f32
    linalg.yield %v : f32
  } -> tensor<1x3x5x5xf32>
  %b3 = tensor.expand_shape %shift [[0, 1, 2]] output_shape [3, 1, 1] : tensor<3xf32> into tensor<3x1x1xf32>
  %t = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s, %b3 : tensor<1x3x5x5xf32>, tensor<3x1x1xf32>) outs(%e : tensor<1x3x5x5xf32>) {
  ^bb0(%in: f32, %c: f32, %out: f32):
    %v = arith.addf %in, %c : f32
    linalg.yield %v : f32
  } -> tensor<1x3x5x5xf32>
  return %t : tensor<1x3x5x5xf32>
}

// A matmul, divided: nothing is left to add.
// CHECK-LABEL: func.func @linear
// CHECK:         %[[V:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK:           arith.divf
// CHECK:         %[[R:.*]] = linalg.matmul ins(%{{.*}}, %[[V]] :
// CHECK-NEXT:    return %[[R]]
func.func @linear(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<[[0.5, -1.25], [0.375, 2.0], [0.125, 0.25]]> : tensor<3x2xf32>
  %d = arith.constant dense<[4.0, 0.25]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x3xf32>, tensor<3x2xf32>) outs(%init : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%r, %d : tensor<4x2xf32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%in: f32, %c: f32, %out: f32):
    %v = arith.divf %in, %c : f32
    linalg.yield %v : f32
  } -> tensor<4x2xf32>
  return %s : tensor<4x2xf32>
}

// Nothing changes for weights that are no constants, for what scales rows, divides by the sum or is read in between.
// CHECK-LABEL: func.func @stays
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x3xf32>, %[[W:[^:]*]]: tensor<3x2xf32>
// CHECK:         linalg.matmul ins(%[[X]], %[[W]] :
// CHECK:           arith.mulf
// CHECK:         linalg.matmul ins(%[[X]], %[[C:.*]] :
// CHECK:           arith.mulf
// CHECK:         linalg.matmul ins(%[[X]], %[[C]] :
// CHECK:           arith.divf
// CHECK:         linalg.matmul ins(%[[X]], %[[C]] :
// CHECK:           arith.mulf
// CHECK:         return
func.func @stays(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant dense<[[0.5, -1.25], [0.3, 2.0], [0.1, 0.2]]> : tensor<3x2xf32>
  %d = arith.constant dense<[3.0, 0.7]> : tensor<2xf32>
  %rows = arith.constant dense<[3.0, 0.7, 0.2, 1.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r0 = linalg.matmul ins(%x, %w : tensor<4x3xf32>, tensor<3x2xf32>) outs(%init : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s0 = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%r0, %d : tensor<4x2xf32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%in: f32, %f: f32, %out: f32):
    %v = arith.mulf %in, %f : f32
    linalg.yield %v : f32
  } -> tensor<4x2xf32>
  %r1 = linalg.matmul ins(%x, %c : tensor<4x3xf32>, tensor<3x2xf32>) outs(%init : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s1 = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d0)>, #same], iterator_types = ["parallel", "parallel"]} ins(%r1, %rows : tensor<4x2xf32>, tensor<4xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%in: f32, %f: f32, %out: f32):
    %v = arith.mulf %in, %f : f32
    linalg.yield %v : f32
  } -> tensor<4x2xf32>
  %r2 = linalg.matmul ins(%x, %c : tensor<4x3xf32>, tensor<3x2xf32>) outs(%init : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s2 = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%r2, %d : tensor<4x2xf32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%in: f32, %f: f32, %out: f32):
    %v = arith.divf %f, %in : f32
    linalg.yield %v : f32
  } -> tensor<4x2xf32>
  %r3 = linalg.matmul ins(%x, %c : tensor<4x3xf32>, tensor<3x2xf32>) outs(%init : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s3 = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%r3, %d : tensor<4x2xf32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%in: f32, %f: f32, %out: f32):
    %v = arith.mulf %in, %f : f32
    linalg.yield %v : f32
  } -> tensor<4x2xf32>
  return %s0, %s1, %s2, %s3, %r3 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}
