// What adds up integers that were scaled adds up the integers, and scales the sums.
// RUN: npuflow-opt %s --npuflow-sum-integers --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-sum-integers -o %t
// RUN: npuflow run %t --device=toy --seed=3 | filecheck %s --check-prefix=EXECUTED
// EXECUTED-COUNT-2: verified {{.*}}against

#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Windows of an image with zeros around it, which are zeros of i8 then.
// CHECK-LABEL: func.func @windows
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x6xi8>
// CHECK:         %[[P:.*]] = tensor.pad %[[X]]
// CHECK:           tensor.yield %{{.*}} : i8
// CHECK:         %[[Z:.*]] = linalg.fill {{.*}} -> tensor<4x6xi32>
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<4x8xi8>, tensor<3xf32>) outs(%[[Z]] :
// CHECK:           arith.extsi %{{.*}} : i8 to i32
// CHECK:           arith.addi
// CHECK:         %[[F:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4x6xi32>)
// CHECK:           arith.sitofp %{{.*}} : i32 to f32
// CHECK:           arith.mulf
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[F]]
func.func @windows(%x: tensor<4x6xi8>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %k = tensor.empty() : tensor<3xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xi8>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: i8, %out: f32):
    %c = arith.constant 0.25 : f32
    %i = arith.sitofp %in : i8 to f32
    %m = arith.mulf %i, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x6xf32>
  %p = tensor.pad %f low[0, 1] high[0, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<4x6xf32> to tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1 + d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %k : tensor<4x8xf32>, tensor<3xf32>) outs(%z : tensor<4x6xf32>) {
  ^bb0(%in: f32, %tap: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %s : tensor<4x6xf32>
}

// Squares, sums that begin at something, and integers with a scale for each row stay floats.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     arith.addi
// CHECK:         return
func.func @others(%x: tensor<4x6xi8>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xi8>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: i8, %out: f32):
    %c = arith.constant 0.25 : f32
    %i = arith.sitofp %in : i8 to f32
    %m = arith.mulf %i, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x6xf32>
  %g = linalg.generic {indexing_maps = [#same, #row, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<4x6xi8>, tensor<4xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: i8, %c: f32, %out: f32):
    %i = arith.sitofp %in : i8 to f32
    %m = arith.mulf %i, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x6xf32>
  %r = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%f : tensor<4x6xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %in, %in : f32
    %t = arith.addf %m, %out : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%f : tensor<4x6xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %u = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%g : tensor<4x6xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %in, %out : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %q, %s, %u : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
