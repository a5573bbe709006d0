// Without options the device decides: the type's first instruction, no more cores than there is work for, and what is
// decided is told with its numbers.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=npu2 --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=npu2 k-in-l2=whole' --remarks 2>&1 | filecheck %s --check-prefix=WHOLE

// CHECK: assign-strategy-default.mlir:{{[0-9]+}}:8: remark: [npuflow-assign-strategy] grid {{4x8|8x4}}, tile-l2
// CHECK-SAME: L1 {{[0-9]+}} of 64512 bytes, L2 {{[0-9]+}} of 4194304 bytes
// CHECK: remark: [npuflow-assign-strategy] grid 1x1, tile-l2 (8, 8, 8), tile-l1 (8, 8, 8), pack (8, 8, 8): L1 384 of 64512 bytes, L2 384 of 524288 bytes

// CHECK-LABEL: func.func @large
// CHECK:         grid = [{{4, 8|8, 4}}], pack = [8, 8, 8]
// CHECK-LABEL: func.func @tiny
// CHECK:         grid = [1, 1], pack = [8, 8, 8], tile_l1 = [8, 8, 8], tile_l2 = [8, 8, 8]

// All of K in L2 leaves no room for a second slot there.
// WHOLE: remark: [npuflow-assign-strategy] grid {{4x8|8x4}}
// WHOLE: remark: [npuflow-assign-strategy] L2 is single-buffered: two slots each would need {{[0-9]+}} of 4194304 bytes
// WHOLE: func.func @large
// WHOLE: depth_l2 = 1 : i64
func.func @large(%a: tensor<1024x24576xi8>, %b: tensor<24576x1024xi8>, %c: tensor<1024x1024xi32>) -> tensor<1024x1024xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<1024x24576xi8>, tensor<24576x1024xi8>) outs(%c : tensor<1024x1024xi32>) -> tensor<1024x1024xi32>
  return %r : tensor<1024x1024xi32>
}

func.func @tiny(%a: tensor<1x1xi8>, %b: tensor<1x1xi8>, %c: tensor<1x1xi32>) -> tensor<1x1xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<1x1xi8>, tensor<1x1xi8>) outs(%c : tensor<1x1xi32>) -> tensor<1x1xi32>
  return %r : tensor<1x1xi32>
}
