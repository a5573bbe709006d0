// Padding by another value than zero becomes padding by zeros, and masks that say where there is nothing.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-mask-padding --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// One mask per padded dimension, indexed as the dimension is.
// CHECK-LABEL: func.func @pool
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[X:.*]] = tensor.pad %{{.*}} low[0, 1, 1, 0] high[0, 1, 0, 0]
// CHECK:           tensor.yield %[[ZERO]] : f32
// CHECK:         %[[H:.*]] = tensor.pad %{{.*}} low[1] high[1]
// CHECK:           : tensor<15xi8> to tensor<17xi8>
// CHECK:         %[[W:.*]] = tensor.pad %{{.*}} low[1] high[0]
// CHECK:           : tensor<16xi8> to tensor<17xi8>
// CHECK:         linalg.generic
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5) -> (d1 * 2 + d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2 * 2 + d5)>
// CHECK-SAME:      ins(%[[X]], %{{[^,]*}}, %[[H]], %[[W]] :
// CHECK-NEXT:    ^bb0(%[[IN:[^:]*]]: f32, %{{[^:]*}}: f32, %[[MH:[^:]*]]: i8, %[[MW:[^:]*]]: i8, %[[OUT:[^:]*]]: f32)
// CHECK-NEXT:      %[[EXISTS:.*]] = arith.andi %[[MH]], %[[MW]] : i8
// CHECK:           %[[MISSING:.*]] = arith.cmpi eq, %[[EXISTS]], %{{.*}} : i8
// CHECK:           %[[V:.*]] = arith.select %[[MISSING]], %{{.*}}, %[[IN]] : f32
// CHECK:           arith.maximumf %[[OUT]], %[[V]]
func.func @pool(%x: tensor<1x15x16x8xf32>) -> tensor<1x8x8x8xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x8x8x8xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<1x15x16x8xf32> to tensor<1x17x17x8xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%e : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %r = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%p, %w : tensor<1x17x17x8xf32>, tensor<3x3xf32>) outs(%f : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %r : tensor<1x8x8x8xf32>
}

// Two users, one of which reads it twice; -0.0 is not zero.
// CHECK-LABEL: func.func @users
// CHECK:         linalg.generic {{.*}} ins(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{.*}} : tensor<6xf32>, tensor<6xf32>, tensor<6xi8>, tensor<6xi8>)
// CHECK-COUNT-2:   arith.select
// CHECK:           arith.mulf
// CHECK:         linalg.generic {{.*}} ins(%{{[^,]*}}, %{{.*}} : tensor<6xf32>, tensor<6xi8>)
// CHECK:           arith.select
// CHECK:           math.absf
func.func @users(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %v = arith.constant -0.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %v : f32
  } : tensor<4xf32> to tensor<6xf32>
  %r = arith.mulf %p, %p : tensor<6xf32>
  %s = math.absf %p : tensor<6xf32>
  return %r, %s : tensor<6xf32>, tensor<6xf32>
}

// A zero point.
// CHECK-LABEL: func.func @zero_point
// CHECK:         linalg.generic
// CHECK:           arith.select %{{.*}}, %{{.*}}, %{{.*}} : i8
// CHECK:           arith.extsi
func.func @zero_point(%x: tensor<1x7x4xi8>, %w: tensor<3x4x2xi8>, %c: tensor<1x8x2xi32>) -> tensor<1x8x2xi32> {
  %v = arith.constant -12 : i8
  %p = tensor.pad %x low[0, 1, 0] high[0, 2, 0] {
  ^bb0(%a: index, %b: index, %d: index):
    tensor.yield %v : i8
  } : tensor<1x7x4xi8> to tensor<1x10x4xi8>
  %r = linalg.conv_1d_nwc_wcf ins(%p, %w : tensor<1x10x4xi8>, tensor<3x4x2xi8>) outs(%c : tensor<1x8x2xi32>) -> tensor<1x8x2xi32>
  return %r : tensor<1x8x2xi32>
}

// Padding by zeros is what transfers do. What is returned is made by an op that does nothing else.
// CHECK-LABEL: func.func @returned
// CHECK-SAME:    %[[X:.*]]: tensor<4xi32>
// CHECK:         %[[P:.*]] = tensor.pad %[[X]] low[1] high[1]
// CHECK:         %[[Q:.*]] = tensor.pad %[[X]] low[1] high[1]
// CHECK-NEXT:    ^
// CHECK-NEXT:      tensor.yield %c0_i32
// CHECK:         %[[M:.*]] = tensor.pad %{{.*}} low[1] high[1]
// CHECK:           : tensor<4xi8> to tensor<6xi8>
// CHECK:         %[[SEVENS:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[M]] : tensor<6xi32>, tensor<6xi8>)
// CHECK:           arith.select %{{.*}}, %c7_i32{{.*}}, %in : i32
// CHECK:         linalg.generic {{.*}} ins(%[[P]], %[[P]] :
// CHECK-NOT:       arith.select
// CHECK:         return %{{.*}}, %[[SEVENS]]
func.func @returned(%x: tensor<4xi32>) -> (tensor<6xi32>, tensor<6xi32>) {
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %zero : i32
  } : tensor<4xi32> to tensor<6xi32>
  %q = tensor.pad %x low[1] high[1] {
  ^bb0(%a: index):
    tensor.yield %seven : i32
  } : tensor<4xi32> to tensor<6xi32>
  %r = arith.addi %p, %p : tensor<6xi32>
  return %r, %q : tensor<6xi32>, tensor<6xi32>
}

// Of what is never negative, zeros are as good as what is below all numbers, where windows have something beside them:
// the first two do, the third one's first window is in the padding alone, the fourth's numbers may be negative.
// CHECK-LABEL: func.func @behind_relu
// CHECK-NOT:     xi8>
// CHECK:         return
func.func @behind_relu(%x: tensor<1x4x10x10xf32>) -> (tensor<1x4x5x5xf32>, tensor<1x4x12x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x4x10x10xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x4x10x10xf32>) outs(%e : tensor<1x4x10x10xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x4x10x10xf32>
  %p = tensor.pad %y low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<1x4x10x10xf32> to tensor<1x4x12x12xf32>
  %q = tensor.pad %y low[0, 0, 2, 0] high[0, 0, 2, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<1x4x10x10xf32> to tensor<1x4x14x10xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %v = tensor.empty() : tensor<3x1xf32>
  %e1 = tensor.empty() : tensor<1x4x5x5xf32>
  %e2 = tensor.empty() : tensor<1x4x12x10xf32>
  %f1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %f2 = linalg.fill ins(%lowest : f32) outs(%e2 : tensor<1x4x12x10xf32>) -> tensor<1x4x12x10xf32>
  %r = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>} ins(%p, %w : tensor<1x4x12x12xf32>, tensor<3x3xf32>) outs(%f1 : tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %s = linalg.pooling_nchw_max ins(%q, %v : tensor<1x4x14x10xf32>, tensor<3x1xf32>) outs(%f2 : tensor<1x4x12x10xf32>) -> tensor<1x4x12x10xf32>
  return %r, %s : tensor<1x4x5x5xf32>, tensor<1x4x12x10xf32>
}

// CHECK-LABEL: func.func @beyond_zeros
// CHECK:         tensor<10xi8> to tensor<15xi8>
// CHECK:         tensor<10xi8> to tensor<12xi8>
// CHECK:         return
func.func @beyond_zeros(%x: tensor<1x4x10x10xf32>) -> (tensor<1x4x13x10xf32>, tensor<1x4x10x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x4x10x10xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x4x10x10xf32>) outs(%e : tensor<1x4x10x10xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x4x10x10xf32>
  %p = tensor.pad %y low[0, 0, 3, 0] high[0, 0, 2, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<1x4x10x10xf32> to tensor<1x4x15x10xf32>
  %q = tensor.pad %x low[0, 0, 1, 0] high[0, 0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<1x4x10x10xf32> to tensor<1x4x12x10xf32>
  %w = tensor.empty() : tensor<3x1xf32>
  %e1 = tensor.empty() : tensor<1x4x13x10xf32>
  %f1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<1x4x13x10xf32>) -> tensor<1x4x13x10xf32>
  %f2 = linalg.fill ins(%lowest : f32) outs(%e : tensor<1x4x10x10xf32>) -> tensor<1x4x10x10xf32>
  %r = linalg.pooling_nchw_max ins(%p, %w : tensor<1x4x15x10xf32>, tensor<3x1xf32>) outs(%f1 : tensor<1x4x13x10xf32>) -> tensor<1x4x13x10xf32>
  %s = linalg.pooling_nchw_max ins(%q, %w : tensor<1x4x12x10xf32>, tensor<3x1xf32>) outs(%f2 : tensor<1x4x10x10xf32>) -> tensor<1x4x10x10xf32>
  return %r, %s : tensor<1x4x13x10xf32>, tensor<1x4x10x10xf32>
}

// Bools: what is padded with 1 has a mask, what is padded with 0 none.
// CHECK-LABEL: func.func @bools
// CHECK-COUNT-1: tensor<5xi8> to tensor<7xi8>
// CHECK-NOT:     tensor<5xi8> to
// CHECK:         linalg.generic
// CHECK:         arith.xori
// CHECK:         return
func.func @bools(%a: tensor<3x5xi1>, %b: tensor<3x7xi1>) -> tensor<3x7xi1> {
  %true = arith.constant true
  %false = arith.constant false
  %p = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %true : i1
  } : tensor<3x5xi1> to tensor<3x7xi1>
  %q = tensor.pad %a low[0, 2] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %false : i1
  } : tensor<3x5xi1> to tensor<3x7xi1>
  %e = tensor.empty() : tensor<3x7xi1>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%p, %q, %b : tensor<3x7xi1>, tensor<3x7xi1>, tensor<3x7xi1>) outs(%e : tensor<3x7xi1>) {
  ^bb0(%x: i1, %z: i1, %y: i1, %o: i1):
    %s = arith.xori %x, %y : i1
    %w = arith.ori %s, %z : i1
    linalg.yield %w : i1
  } -> tensor<3x7xi1>
  return %r : tensor<3x7xi1>
}
