// Every matmul gets a complete strategy: what it says itself first, then the options, then what suits the device.
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=toy grid=1,2 pack=4,8,8' | filecheck %s

// CHECK: module attributes {npu.device = #npu.device<"toy", {{.*}}>}

// CHECK-LABEL: func.func @options
// The function says for reports what the matmul is, and how it is mapped.
// CHECK-SAME:    attributes {npu.work = [{acc_bytes = 4 : i64, batch = 1 : i64, k = 64 : i64, lhs_bytes = 4 : i64, m = 64 : i64, n = 64 : i64, result_bytes = 4 : i64, rhs_bytes = 4 : i64, strategy = #npu.strategy<{{.*}}grid = [1, 2]
// CHECK:         linalg.matmul {npu.strategy = #npu.strategy<{depth_l1 = {{[12]}} : i64, depth_l2 = {{[12]}} : i64, {{(depth_result = 2 : i64, )?}}grid = [1, 2], pack = [4, 8, 8],
// CHECK-SAME:      tile_l1 = [{{[0-9]+, [0-9]+, [0-9]+}}], tile_l2 = [{{[0-9]+, [0-9]+, [0-9]+}}]}>}
func.func @options(%a: tensor<64x64xi32>, %b: tensor<64x64xi32>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x64xi32>, tensor<64x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}

// The op's own attribute wins over the options; what it leaves open is completed around it.
// CHECK-LABEL: func.func @preset
// CHECK:         linalg.matmul {npu.strategy = #npu.strategy<{depth_l1 = 1 : i64, depth_l2 = {{[12]}} : i64, grid = [2, 1], pack = [4, 8, 8],
// CHECK-SAME:      tile_l1 = [8, 16, {{[0-9]+}}], tile_l2 = [16, 16, 32]}>}
func.func @preset(%a: tensor<64x64xi32>, %b: tensor<64x64xi32>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 1], tile_l2 = [16, 16, 32], depth_l1 = 1}>}
      ins(%a, %b : tensor<64x64xi32>, tensor<64x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}

// A complete strategy stays as it is, and ops that are no matmul get none.
// CHECK-LABEL: func.func @complete
// CHECK:         linalg.fill ins(
// CHECK:         linalg.batch_matmul {npu.strategy = #npu.strategy<{depth_l1 = 1 : i64, depth_l2 = 2 : i64, grid = [2, 2], pack = [4, 8, 8], tile_l1 = [4, 8, 8], tile_l2 = [8, 16, 16]}>}
func.func @complete(%a: tensor<3x1x64xi8>, %b: tensor<3x64x1xi8>, %e: tensor<3x1x1xi32>) -> tensor<3x1x1xi32> {
  %zero = arith.constant 0 : i32
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<3x1x1xi32>) -> tensor<3x1x1xi32>
  %r = linalg.batch_matmul {npu.strategy = #npu.strategy<{depth_l1 = 1, depth_l2 = 2, grid = [2, 2], pack = [4, 8, 8], tile_l1 = [4, 8, 8], tile_l2 = [8, 16, 16]}>}
      ins(%a, %b : tensor<3x1x64xi8>, tensor<3x64x1xi8>) outs(%f : tensor<3x1x1xi32>) -> tensor<3x1x1xi32>
  return %r : tensor<3x1x1xi32>
}

// So does one that stands in no function.
// CHECK:         linalg.matmul {npu.strategy = #npu.strategy<{{.*}}grid = [1, 2]{{.*}}>} ins({{.*}}tensor<8x8xi32>
%a = arith.constant dense<1> : tensor<8x8xi32>
%c = arith.constant dense<0> : tensor<8x8xi32>
%r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
