// RUN: npuflow-opt %s --npuflow-tile-cores | filecheck %s

// With `turned = 1` the array's columns (x) run along m, its rows (y) along n.

// CHECK-LABEL: func.func @turned
// CHECK: scf.forall
// CHECK: mapping = [#gpu.thread<x>, #gpu.thread<y>]
func.func @turned(%a: tensor<64x32xf32>, %b: tensor<32x32xf32>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [4, 2], pack = [4, 8, 8], tile_l1 = [16, 16, 16],
    tile_l2 = [64, 32, 32], turned = 1}>}
    ins(%a, %b : tensor<64x32xf32>, tensor<32x32xf32>) outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}
