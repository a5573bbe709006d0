// Three convolutions on six clusters: all go along rows, ten to a cluster, so that what one makes is what the next reads
// but for two rows of its neighbours. A cluster by itself has no neighbours, and DRAM's ports reach no array's scratchpads.
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0 | filecheck %s
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0 --npuflow-assign-strategy=device=npu4.0 | filecheck %s --check-prefix=STRATEGY
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0:1x1 | filecheck %s --check-prefix=ALONE
// RUN: npuflow-opt %s --npuflow-plan=device=npu2 | filecheck %s --check-prefix=ALONE
// RUN: npuflow-opt %s --npuflow-plan=device=npu4.0 --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func private @layers_0
// CHECK-SAME:    npu.rows = {loop = 1 : i64, tile = 10 : i64}
// CHECK-LABEL: func.func private @layers_1
// CHECK-SAME:    npu.rows = {loop = 1 : i64, tile = 10 : i64}
// STRATEGY:      grid = [1, 6], {{.*}}spread = [1, 1], {{.*}}tile_l1 = [1, 10,
// STRATEGY:      grid = [1, 6], {{.*}}spread = [1, 1], {{.*}}tile_l1 = [1, 10,
// ALONE-NOT:     npu.rows
// REMARK:        remark: [npuflow-spread-phases] 3 of 3 parts keep what they make in clusters; what could be spread so takes
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @layers(%x0: tensor<1x56x56x16xi8>, %w0: tensor<3x3x16x64xi8>, %w1: tensor<3x3x64x48xi8>, %w2: tensor<3x3x48x32xi8>) -> tensor<1x56x56x32xi8> {
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  
  %p0 = tensor.pad %x0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  } : tensor<1x56x56x16xi8> to tensor<1x58x58x16xi8>
  %e0 = tensor.empty() : tensor<1x56x56x64xi32>
  %f0 = linalg.fill ins(%none : i32) outs(%e0 : tensor<1x56x56x64xi32>) -> tensor<1x56x56x64xi32>
  %s0 = linalg.conv_2d_nhwc_hwcf ins(%p0, %w0 : tensor<1x58x58x16xi8>, tensor<3x3x16x64xi8>)
      outs(%f0 : tensor<1x56x56x64xi32>) -> tensor<1x56x56x64xi32>
  %o0 = tensor.empty() : tensor<1x56x56x64xi8>
  %x1 = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s0 : tensor<1x56x56x64xi32>)
      outs(%o0 : tensor<1x56x56x64xi8>) {
  ^bb0(%in: i32, %out: i8):
    %shifted = arith.shrsi %in, %eight : i32
    %cut = arith.trunci %shifted : i32 to i8
    linalg.yield %cut : i8
  } -> tensor<1x56x56x64xi8>
  %p1 = tensor.pad %x1 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  } : tensor<1x56x56x64xi8> to tensor<1x58x58x64xi8>
  %e1 = tensor.empty() : tensor<1x56x56x48xi32>
  %f1 = linalg.fill ins(%none : i32) outs(%e1 : tensor<1x56x56x48xi32>) -> tensor<1x56x56x48xi32>
  %s1 = linalg.conv_2d_nhwc_hwcf ins(%p1, %w1 : tensor<1x58x58x64xi8>, tensor<3x3x64x48xi8>)
      outs(%f1 : tensor<1x56x56x48xi32>) -> tensor<1x56x56x48xi32>
  %o1 = tensor.empty() : tensor<1x56x56x48xi8>
  %x2 = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s1 : tensor<1x56x56x48xi32>)
      outs(%o1 : tensor<1x56x56x48xi8>) {
  ^bb0(%in: i32, %out: i8):
    %shifted = arith.shrsi %in, %eight : i32
    %cut = arith.trunci %shifted : i32 to i8
    linalg.yield %cut : i8
  } -> tensor<1x56x56x48xi8>
  %p2 = tensor.pad %x2 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  } : tensor<1x56x56x48xi8> to tensor<1x58x58x48xi8>
  %e2 = tensor.empty() : tensor<1x56x56x32xi32>
  %f2 = linalg.fill ins(%none : i32) outs(%e2 : tensor<1x56x56x32xi32>) -> tensor<1x56x56x32xi32>
  %s2 = linalg.conv_2d_nhwc_hwcf ins(%p2, %w2 : tensor<1x58x58x48xi8>, tensor<3x3x48x32xi8>)
      outs(%f2 : tensor<1x56x56x32xi32>) -> tensor<1x56x56x32xi32>
  %o2 = tensor.empty() : tensor<1x56x56x32xi8>
  %x3 = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s2 : tensor<1x56x56x32xi32>)
      outs(%o2 : tensor<1x56x56x32xi8>) {
  ^bb0(%in: i32, %out: i8):
    %shifted = arith.shrsi %in, %eight : i32
    %cut = arith.trunci %shifted : i32 to i8
    linalg.yield %cut : i8
  } -> tensor<1x56x56x32xi8>
  return %x3 : tensor<1x56x56x32xi8>
}
