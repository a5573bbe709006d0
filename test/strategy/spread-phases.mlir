// Two convolutions on six clusters: both go along rows, ten to a cluster, so that the first one's are what the second reads
// but for two rows of its neighbour. A cluster by itself has no neighbours, and DRAM's ports reach no array's scratchpads.
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0 | filecheck %s
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0 --npuflow-assign-strategy=device=npu4.0 | filecheck %s --check-prefix=STRATEGY
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0:1x1 | filecheck %s --check-prefix=ALONE
// RUN: npuflow-opt %s --npuflow-plan=device=npu2 | filecheck %s --check-prefix=ALONE
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0 --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func private @layers_0
// CHECK-SAME:    npu.rows = {loop = 1 : i64, tile = 10 : i64}
// CHECK-LABEL: func.func private @layers_1
// CHECK-SAME:    npu.rows = {loop = 1 : i64, tile = 9 : i64}
// STRATEGY:      grid = [1, 6], {{.*}}spread = [1, 1], {{.*}}tile_l1 = [1, 10,
// STRATEGY:      grid = [1, 6], {{.*}}spread = [1, 1], {{.*}}tile_l1 = [1, 9,
// ALONE-NOT:     npu.rows
// REMARK:        remark: [npuflow-spread-phases] 2 of 2 parts keep what they make in clusters; what could be spread so takes
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @layers(%x: tensor<1x58x58x16xi8>, %w: tensor<3x3x16x64xi8>, %v: tensor<3x3x64x48xi8>) -> tensor<1x54x54x48xi32> {
  %none = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %e = tensor.empty() : tensor<1x56x56x64xi32>
  %f = linalg.fill ins(%none : i32) outs(%e : tensor<1x56x56x64xi32>) -> tensor<1x56x56x64xi32>
  %s = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x58x58x16xi8>, tensor<3x3x16x64xi8>) outs(%f : tensor<1x56x56x64xi32>) -> tensor<1x56x56x64xi32>
  %o = tensor.empty() : tensor<1x56x56x64xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<1x56x56x64xi32>) outs(%o : tensor<1x56x56x64xi8>) {
  ^bb0(%in: i32, %out: i8):
    %shifted = arith.shrsi %in, %eight : i32
    %cut = arith.trunci %shifted : i32 to i8
    linalg.yield %cut : i8
  } -> tensor<1x56x56x64xi8>
  %d = tensor.empty() : tensor<1x54x54x48xi32>
  %g = linalg.fill ins(%none : i32) outs(%d : tensor<1x54x54x48xi32>) -> tensor<1x54x54x48xi32>
  %z = linalg.conv_2d_nhwc_hwcf ins(%y, %v : tensor<1x56x56x64xi8>, tensor<3x3x64x48xi8>) outs(%g : tensor<1x54x54x48xi32>) -> tensor<1x54x54x48xi32>
  return %z : tensor<1x54x54x48xi32>
}
