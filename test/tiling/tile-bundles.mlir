// Loops over blocks, then cores, then pieces of a streamed loop; slices reach over edges by padding.
// RUN: npuflow-opt %s --npuflow-tile-bundles --canonicalize --cse --split-input-file | filecheck %s

#same = affine_map<(d0, d1) -> (d0, d1)>

// Two blocks of 2x2 tiles along each dimension, cut at the end: 60 = 32 + 28 rows.
// CHECK-LABEL: func.func @blocks
// CHECK:         scf.for %[[Y:.*]] = %c0 to %c60 step %c32 iter_args
// CHECK:           scf.for %[[X:.*]] = %c0 to %c32 step %c16 iter_args(%[[OUT:.*]] =
// CHECK:             %[[PART:.*]] = tensor.extract_slice %arg0[%[[Y]], %[[X]]] [%[[SIZE:.*]], 16]
// CHECK:             %[[BLOCK:.*]] = tensor.pad %[[PART]] low[0, 0] high[%{{.*}}, 0]
// CHECK:             %[[ALL:.*]] = scf.forall (%{{.*}}, %{{.*}}) in (2, 2)
// CHECK:               %[[TILE:.*]] = tensor.extract_slice %[[BLOCK]][%{{.*}}, %{{.*}}] [16, 8]
// CHECK:               %[[DONE:.*]] = linalg.generic {{.*}}ins(%[[TILE]] : tensor<16x8xf32>)
// CHECK:               tensor.parallel_insert_slice %[[DONE]]
// CHECK:             } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
// CHECK:             %[[CUT:.*]] = tensor.extract_slice %[[ALL]][0, 0] [%[[SIZE]], 16]
// CHECK:             tensor.insert_slice %[[CUT]] into %[[OUT]][%[[Y]], %[[X]]] [%[[SIZE]], 16]
func.func @blocks(%x: tensor<60x32xf32>) -> tensor<60x32xf32> {
  %o = tensor.empty() : tensor<60x32xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<60x32xf32>) outs(%o : tensor<60x32xf32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 2], order = [0, 1], spread = [0, 1], tile_l1 = [16, 8]}>} {
  ^bb0(%a: f32, %out: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<60x32xf32>
  return %q : tensor<60x32xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// Rows and columns of cores both follow rows; the sum goes through its row in pieces, all cores' of which are in L2.
// CHECK-LABEL: func.func @pieces
// CHECK-NOT:     scf.for %
// CHECK:         scf.forall (%[[Y:.*]], %[[X:.*]]) in (2, 2)
// CHECK:           %[[PLACE:.*]] = affine.apply #[[$MAP:.*]](%[[Y]], %[[X]])
// CHECK:           %[[ZERO:.*]] = linalg.fill
// CHECK:           scf.for %[[K:.*]] = %c0 to %c32 step %c8 iter_args(%[[SUM:.*]] = %[[ZERO]])
// CHECK:             %[[PIECE:.*]] = tensor.extract_slice %arg0[0, %[[K]]] [16, 8]
// CHECK:             tensor.extract_slice %[[PIECE]][%[[PLACE]], 0] [4, 8]
// CHECK:             linalg.generic {{.*}}outs(%[[SUM]] : tensor<4xf32>)
func.func @pieces(%x: tensor<16x32xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<16xf32>) -> tensor<16xf32>
  %q = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x32xf32>) outs(%f : tensor<16xf32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 2], order = [0], spread = [0, 0], stream = [8], tile_l1 = [4]}>} {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  return %q : tensor<16xf32>
}

// -----

#lhs = affine_map<(m, n, i, j) -> (i, m, j)>
#rhs = affine_map<(m, n, i, j) -> (i, j, n)>
#sum = affine_map<(m, n, i, j) -> (m, n)>

// L2 has 2 x 8 of a product's 4 x 10 steps at a time, L1 1 x 4 of these; zeros fill up 10 to 16.
// CHECK-LABEL: func.func @pieces_in_l2
// CHECK:         %[[A:.*]] = tensor.pad %arg0 low[0, 0, 0] high[0, 0, 6]
// CHECK:         scf.forall (%[[Y:.*]], %{{.*}}) in (2, 1)
// CHECK:           scf.for %[[I:.*]] = %c0 to %c4 step %c2
// CHECK:             scf.for %[[J:.*]] = %c0 to %c16 step %c8
// CHECK:               %[[L2:.*]] = tensor.extract_slice %[[A]][%[[I]], 0, %[[J]]] [2, 8, 8]
// CHECK:               scf.for %[[IN_I:.*]] = %c0 to %c2 step %c1
// CHECK:                 scf.for %[[IN_J:.*]] = %c0 to %c8 step %c4
// CHECK:                   tensor.extract_slice %[[L2]][%[[IN_I]], %{{.*}}, %[[IN_J]]] [1, 4, 4]
// CHECK:                   linalg.generic
func.func @pieces_in_l2(%a: tensor<4x8x10xi8>, %b: tensor<4x10x8xi8>) -> tensor<8x8xi32> {
  %zero = arith.constant 0 : i32
  %o = tensor.empty() : tensor<8x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%o : tensor<8x8xi32>) -> tensor<8x8xi32>
  %q = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<4x8x10xi8>, tensor<4x10x8xi8>) outs(%f : tensor<8x8xi32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 1], order = [0, 1], spread = [0, 1], stream = [1, 4], stream_l2 = [2, 8], tile_l1 = [4, 8]}>} {
  ^bb0(%x: i8, %y: i8, %sum: i32):
    %p = arith.extsi %x : i8 to i32
    %r = arith.extsi %y : i8 to i32
    %s = arith.muli %p, %r : i32
    %t = arith.addi %sum, %s : i32
    linalg.yield %t : i32
  } -> tensor<8x8xi32>
  return %q : tensor<8x8xi32>
}

// -----

// Windows of 3 with stride 2: a block of 4 results reads 9 elements, from one before the tensor on; a core's 2 read 5.
// CHECK-LABEL: func.func @windows
// CHECK:         scf.for %[[B:.*]] = %c0 to %c8 step %c4
// CHECK:           %[[PART:.*]] = tensor.extract_slice %arg0[%[[BEGIN:.*]]] [%{{.*}}]
// CHECK:           tensor.pad %[[PART]] low[%{{.*}}] high[{{.*}}]
// CHECK:           : tensor<?xi32> to tensor<9xi32>
// CHECK:           scf.forall (%{{.*}}, %{{.*}}) in (1, 2)
// CHECK:             tensor.extract_slice %{{.*}}[%{{.*}}] [5] [1] : tensor<9xi32> to tensor<5xi32>
func.func @windows(%x: tensor<15xi32>, %w: tensor<3xi32>) -> tensor<8xi32> {
  %zero = arith.constant 0 : i32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : i32
  } : tensor<15xi32> to tensor<17xi32>
  %o = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%o : tensor<8xi32>) -> tensor<8xi32>
  %q = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 * 2 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%p, %w : tensor<17xi32>, tensor<3xi32>) outs(%f : tensor<8xi32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [1, 2], order = [0], spread = [0, 0], stream = [3], tile_l1 = [2]}>} {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %m = arith.muli %a, %b : i32
    %r = arith.addi %sum, %m : i32
    linalg.yield %r : i32
  } -> tensor<8xi32>
  return %q : tensor<8xi32>
}

// -----

// What is in no bundle stays as it is.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    linalg.matmul
// CHECK-NEXT:    return
func.func @nothing(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>

// A result that belongs in a larger tensor is written there, block by block.
// CHECK-LABEL: func.func @inserted
// CHECK-SAME:    %[[INTO:[a-z0-9]+]]: tensor<100x32xf32>
// CHECK:         %[[ALL:.*]] = scf.for %[[Y:.*]] = %c0 to %c60 step %c32 iter_args(%[[OUT:.*]] = %[[INTO]]) -> (tensor<100x32xf32>)
// CHECK:           %[[ROW:.*]] = affine.apply #{{.*}}(%[[Y]])
// CHECK:           tensor.insert_slice %{{.*}} into %[[OUT]][%[[ROW]], 0] [%{{.*}}, 32]
// CHECK-NOT:     tensor.insert_slice
// CHECK:         return %[[ALL]]
func.func @inserted(%x: tensor<60x32xf32>, %into: tensor<100x32xf32>) -> tensor<100x32xf32> {
  %o = tensor.empty() : tensor<60x32xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<60x32xf32>) outs(%o : tensor<60x32xf32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 2], order = [0, 1], spread = [0, 1], tile_l1 = [16, 16]}>} {
  ^bb0(%a: f32, %out: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<60x32xf32>
  %r = tensor.insert_slice %q into %into[40, 0] [60, 32] [1, 1] : tensor<60x32xf32> into tensor<100x32xf32>
  return %r : tensor<100x32xf32>
}

// -----

#image = affine_map<(c, x, k) -> (x + k)>
#taps = affine_map<(c, x, k) -> (c, k)>
#windows = affine_map<(c, x, k) -> (c, x)>
#window = affine_map<(c, x) -> (c, x)>
#sum = affine_map<(c, x) -> (c)>

// The sum over 7 windows takes 3 at a time, and then 1; the taps, which no window changes, are read once for all.
// CHECK-LABEL: func.func @left_over
// CHECK:         scf.forall (%[[Y:.*]], %{{.*}}) in (2, 1)
// CHECK-COUNT-1:   tensor.extract_slice %arg1[%{{.*}}, 0] [2, 3]
// CHECK:           %[[MOST:.*]] = scf.for %[[X:.*]] = %c0 to %c6 step %c3 iter_args
// CHECK-NOT:         %arg1
// CHECK:             tensor.extract_slice %arg0[%[[X]]] [5]
// CHECK:           tensor.extract_slice %arg0[6] [3]
// CHECK-NOT:       %arg1
func.func @left_over(%x: tensor<9xf32>, %w: tensor<4x3xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  %y = linalg.generic {indexing_maps = [#image, #taps, #windows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<9xf32>, tensor<4x3xf32>) outs(%f : tensor<4x7xf32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 1], order = [0], spread = [0, 0], stream = [3], tile_l1 = [2]}>} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x7xf32>
  %o = tensor.empty() : tensor<4xf32>
  %g = linalg.fill ins(%zero : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#window, #sum], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<4x7xf32>) outs(%g : tensor<4xf32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 1], order = [0], spread = [0, 0], stream = [3], tile_l1 = [2]}>} {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
