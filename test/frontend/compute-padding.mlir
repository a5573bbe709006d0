// A padded tensor that somebody needs in memory is moved there by an op of its own, whose loop of one keeps it.
// RUN: npuflow-opt %s --npuflow-compute-padding --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-compute-padding --canonicalize | filecheck %s --check-prefix=KEPT
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// CHECK-LABEL: func.func @returned
// CHECK:         %[[P:.*]] = tensor.pad %{{.*}} low[1, 2] high[2, 3]
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%[[P]] : tensor<8x12xf32>) outs(%{{.*}} : tensor<1x8x12xf32>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      linalg.yield %[[IN]] : f32
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[R]] {{\[}}[0, 1], [2]] : tensor<1x8x12xf32> into tensor<8x12xf32>
// CHECK:         return %[[C]]
// KEPT-LABEL:  func.func @returned
// KEPT:          linalg.generic
func.func @returned(%x: tensor<5x7xf32>) -> tensor<8x12xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1, 2] high[2, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<5x7xf32> to tensor<8x12xf32>
  return %p : tensor<8x12xf32>
}

// Who is padded on its way in reads as before; a matmul, its tail and the result have what was computed once for them.
// CHECK-LABEL: func.func @readers
// CHECK:         %[[P:.*]] = tensor.pad
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<8x8xi32>) outs(%{{.*}} : tensor<1x8x8xi32>)
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[R]]
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<8x8xi32>) outs(%{{.*}} : tensor<8x8xi32>)
// CHECK:           arith.muli
// CHECK:         %[[S:.*]] = linalg.matmul ins(%[[C]], %{{.*}} :
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[C]] :
// CHECK:         return %{{.*}}, %[[T]], %[[C]]
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @readers(%x: tensor<6x7xi32>, %w: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> (tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>) {
  %zero = arith.constant 0 : i32
  %p = tensor.pad %x low[2, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : i32
  } : tensor<6x7xi32> to tensor<8x8xi32>
  %e = tensor.empty() : tensor<8x8xi32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    %s = arith.muli %in, %in : i32
    linalg.yield %s : i32
  } -> tensor<8x8xi32>
  %m = linalg.matmul ins(%p, %w : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  %t = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%m, %p : tensor<8x8xi32>, tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<8x8xi32>
  return %q, %t, %p : tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>
}

// Nothing to do: only an op that pads on its way in reads it; other numbers than zero are for npuflow-mask-padding.
// CHECK-LABEL: func.func @left
// CHECK-NOT:     tensor.collapse_shape
func.func @left(%x: tensor<6xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : i32
  } : tensor<6xi32> to tensor<8xi32>
  %q = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %one : i32
  } : tensor<6xi32> to tensor<8xi32>
  %e = tensor.empty() : tensor<8xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%in: i32, %out: i32):
    %s = arith.muli %in, %in : i32
    linalg.yield %s : i32
  } -> tensor<8xi32>
  return %r, %q : tensor<8xi32>, tensor<8xi32>
}

// A sum that two ops read has no tail, whichever of its readers adds up another one.
// CHECK-LABEL: func.func @two_readers
// CHECK:         tensor.collapse_shape
// CHECK:         linalg.matmul
// CHECK:         linalg.matmul
func.func @two_readers(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<2x8xf32>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %c low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x8xf32> to tensor<4x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%p, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s, %r : tensor<4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<4x8xf32>
  %u = linalg.exp ins(%r : tensor<4x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %t, %u : tensor<4x8xf32>, tensor<4x8xf32>
}
