// A bundle of a function that lacked descriptors or memory is chosen with less to count on.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy | filecheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @as_it_is
// CHECK:         linalg.generic {{.*}}depth_l1 = 2 : i64, depth_l2 = 2 : i64
func.func @as_it_is(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<65536xf32> {
  %e = tensor.empty() : tensor<65536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

// CHECK-LABEL: func.func @with_fewer
// CHECK:         linalg.generic {{.*}}depth_l1 = 1 : i64
func.func @with_fewer(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<65536xf32>
    attributes {npu.lacked = [{level = 1 : i64, descriptors = array<i64: 40, 16>}]} {
  %e = tensor.empty() : tensor<65536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

// CHECK-LABEL: func.func @with_smaller
// CHECK:         linalg.generic {{.*}}tile_l1 = [1]
func.func @with_smaller(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<65536xf32>
    attributes {npu.lacked = [{level = 1 : i64, bytes = array<i64: 65536, 128>}]} {
  %e = tensor.empty() : tensor<65536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<65536xf32>, tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}
