// What a function lacked is chosen with fewer descriptors to count on: by as much as was lacking, or as few as can be;
// what is said stays.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy --split-input-file | filecheck %s

// Two slots of everything are estimated at 9 descriptors of the channels of a parity; 9 * 24 / 34 leaves 6 to count on.
// CHECK-LABEL: func.func @as_it_is
// CHECK:         linalg.matmul {{.*}}depth_l1 = 2 : i64, depth_l2 = 2 : i64
func.func @as_it_is(%a: tensor<128x256xi8>, %b: tensor<256x128xi8>, %c: tensor<128x128xi32>) -> tensor<128x128xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<128x256xi8>, tensor<256x128xi8>) outs(%c : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %r : tensor<128x128xi32>
}

// CHECK-LABEL: func.func @with_fewer
// CHECK:         linalg.matmul {{.*}}depth_l2 = 1 : i64
func.func @with_fewer(%a: tensor<128x256xi8>, %b: tensor<256x128xi8>, %c: tensor<128x128xi32>) -> tensor<128x128xi32>
    attributes {npu.lacked = [{level = 2 : i64, descriptors = array<i64: 34, 24>}]} {
  %r = linalg.matmul ins(%a, %b : tensor<128x256xi8>, tensor<256x128xi8>) outs(%c : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %r : tensor<128x128xi32>
}

// CHECK-LABEL: func.func @least
// CHECK:         linalg.matmul {{.*}}depth_l1 = 1 : i64, depth_l2 = 1 : i64{{.*}}grid = [1, 1], {{.*}}tile_l1 = [4, 8, 8]
func.func @least(%a: tensor<128x256xi8>, %b: tensor<256x128xi8>, %c: tensor<128x128xi32>) -> tensor<128x128xi32>
    attributes {npu.lacked = [{level = 2 : i64, descriptors = array<i64: 34, 24>}, {level = 2 : i64, descriptors = array<i64: 30, 0>}]} {
  %r = linalg.matmul ins(%a, %b : tensor<128x256xi8>, tensor<256x128xi8>) outs(%c : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %r : tensor<128x128xi32>
}

// CHECK-LABEL: func.func @said
// CHECK:         linalg.matmul {{.*}}depth_l2 = 2 : i64
func.func @said(%a: tensor<128x256xi8>, %b: tensor<256x128xi8>, %c: tensor<128x128xi32>) -> tensor<128x128xi32>
    attributes {npu.lacked = [{level = 2 : i64, descriptors = array<i64: 34, 24>}]} {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{depth_l2 = 2 : i64}>} ins(%a, %b : tensor<128x256xi8>, tensor<256x128xi8>) outs(%c : tensor<128x128xi32>) -> tensor<128x128xi32>
  return %r : tensor<128x128xi32>
}
