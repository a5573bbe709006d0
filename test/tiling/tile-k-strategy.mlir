// Without an option the piece is the strategy's, of the level that is asked for.
// RUN: npuflow-opt %s --npuflow-tile-k | filecheck %s --check-prefix=L2
// RUN: npuflow-opt %s --npuflow-tile-k=level=l1 | filecheck %s --check-prefix=L1
// RUN: not npuflow-opt %s --npuflow-tile-k=level=l3 2>&1 | filecheck %s --check-prefix=L3

// L2: linalg.matmul {{.*}} ins(%{{.*}} : tensor<4x64xi32>, tensor<64x8xi32>)
// L1: linalg.matmul {{.*}} ins(%{{.*}} : tensor<4x16xi32>, tensor<16x8xi32>)
// L3: error: option 'level' of npuflow-tile-k cannot be 'l3': expected one of l2, l1
func.func @f(%a: tensor<4x128xi32>, %b: tensor<128x8xi32>, %c: tensor<4x8xi32>) -> tensor<4x8xi32> {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l2 = [4, 8, 64], tile_l1 = [4, 8, 16], pack = [4, 8, 8]}>}
      ins(%a, %b : tensor<4x128xi32>, tensor<128x8xi32>) outs(%c : tensor<4x8xi32>) -> tensor<4x8xi32>
  return %r : tensor<4x8xi32>
}
