// Without an option the strategy's tile-l2 is the block, for each matmul its own.
// RUN: npuflow-opt %s --npuflow-tile-blocks | filecheck %s

// CHECK-LABEL: func.func @two
// CHECK:         linalg.matmul {{.*}} -> tensor<16x8xi32>
// CHECK:         linalg.matmul {{.*}} -> tensor<32x32xi32>
func.func @two(%a: tensor<64x64xi32>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l2 = [16, 8, 8], tile_l1 = [16, 8, 8], pack = [4, 8, 8]}>}
      ins(%a, %a : tensor<64x64xi32>, tensor<64x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  %s = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l2 = [32, 32, 8], tile_l1 = [32, 32, 8], pack = [4, 8, 8]}>}
      ins(%r, %a : tensor<64x64xi32>, tensor<64x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %s : tensor<64x64xi32>
}
