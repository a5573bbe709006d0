// What is no matmul is bundled as far as a tile of it fits L1, and every bundle gets a strategy.
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=toy grid=1,2' --split-input-file | filecheck %s

#rows = affine_map<(d0, d1) -> (d0)>
#same = affine_map<(d0, d1) -> (d0, d1)>

// Rows are summed and divided by their sum: one bundle, read once; the rows are its space.
// CHECK: module attributes {npu.device = #npu.device<"toy", {{.*}}>}
// The function says for reports that 64x32 elements are read and as many made: 16384 bytes, no products.
// CHECK-LABEL: func.func @one_bundle
// CHECK-SAME:    attributes {npu.work = [{macs = 0 : i64, needed_bytes = 16384 : i64, strategy = #npu.strategy<{{.*}}grid = [1, 2]
// CHECK:         linalg.generic {{.*}} ["parallel", "reduction"]{{.*}}npu.bundle = 0 : i64, npu.strategy = #npu.strategy<{depth_l1 = {{[12]}} : i64, depth_l2 = {{[12]}} : i64, depth_result = {{[12]}} : i64,
// CHECK-SAME:      grid = [1, 2], order = [0], spread = [0, 0], tile_l1 = [{{[0-9]+}}]}>
// CHECK:         linalg.generic {{.*}} ["parallel", "parallel"]{{.*}}npu.bundle = 0 : i64,
func.func @one_bundle(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x32xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %o = tensor.empty() : tensor<64x32xf32>
  %q = linalg.generic {indexing_maps = [#same, #rows, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<64x32xf32>, tensor<64xf32>) outs(%o : tensor<64x32xf32>) {
  ^bb0(%a: f32, %sum: f32, %out: f32):
    %r = arith.divf %a, %sum : f32
    linalg.yield %r : f32
  } -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}

// -----

#rows = affine_map<(d0, d1) -> (d0)>
#same = affine_map<(d0, d1) -> (d0, d1)>

// A row of 160000 bytes fits no L1: two bundles, of which the sum streams its row.
// CHECK-LABEL: func.func @two_bundles
// CHECK:         linalg.generic {{.*}} ["parallel", "reduction"]{{.*}}npu.bundle = 0 : i64,
// CHECK-SAME:      stream = [{{[0-9]+}}],{{.*}} tile_l1 = [{{[0-9]+}}]}>
// CHECK:         linalg.generic {{.*}} ["parallel", "parallel"]{{.*}}npu.bundle = 1 : i64,
// CHECK-SAME:      tile_l1 = [{{[0-9]+}}, {{[0-9]+}}]}>
func.func @two_bundles(%x: tensor<8x40000xf32>) -> tensor<8x40000xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x40000xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %o = tensor.empty() : tensor<8x40000xf32>
  %q = linalg.generic {indexing_maps = [#same, #rows, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x40000xf32>, tensor<8xf32>) outs(%o : tensor<8x40000xf32>) {
  ^bb0(%a: f32, %sum: f32, %out: f32):
    %r = arith.divf %a, %sum : f32
    linalg.yield %r : f32
  } -> tensor<8x40000xf32>
  return %q : tensor<8x40000xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>

// What the op says comes first, the rest is completed around it.
// CHECK-LABEL: func.func @preset
// CHECK:         npu.strategy = #npu.strategy<{depth_l1 = 1 : i64, depth_l2 = {{[12]}} : i64, depth_result = {{[12]}} : i64, grid = [2, 2], order = [1, 0], spread = [1, 0], tile_l1 = [4, 8]}>
func.func @preset(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = tensor.empty() : tensor<64x32xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%o : tensor<64x32xf32>) attrs = {npu.strategy = #npu.strategy<{depth_l1 = 1, grid = [2, 2], order = [1, 0], spread = [1, 0], tile_l1 = [4, 8]}>} {
  ^bb0(%a: f32, %out: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<64x32xf32>
  return %q : tensor<64x32xf32>
}

// -----

// A matmul is not bundled.
// CHECK-LABEL: func.func @matmul
// CHECK-NOT:     npu.bundle
func.func @matmul(%a: tensor<64x64xi32>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %r = linalg.matmul ins(%a, %a : tensor<64x64xi32>, tensor<64x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}
