// Without an option a core's tile is the strategy's tile-l1.
// RUN: npuflow-opt %s --npuflow-tile-cores | filecheck %s

// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (4, 2)
// CHECK:   linalg.matmul {{.*}} -> tensor<4x16xi32>
func.func @f(%a: tensor<16x64xi32>, %b: tensor<64x32xi32>, %c: tensor<16x32xi32>) -> tensor<16x32xi32> {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [4, 2], tile_l2 = [16, 32, 64], tile_l1 = [4, 16, 8], pack = [4, 8, 8]}>}
      ins(%a, %b : tensor<16x64xi32>, tensor<64x32xi32>) outs(%c : tensor<16x32xi32>) -> tensor<16x32xi32>
  return %r : tensor<16x32xi32>
}
