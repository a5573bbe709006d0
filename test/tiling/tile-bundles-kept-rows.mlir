// Rows that are kept: first rows once, then steps, of which each makes new rows behind those that a line keeps.
// RUN: npuflow-opt %s --npuflow-tile-bundles --canonicalize --cse | filecheck %s

#image = affine_map<(t, h, c, y) -> (t * 8 + h + y, c)>
#inside = affine_map<(t, h, c, y) -> (t, h + y, c)>
#taps = affine_map<(t, h, c, y) -> (y)>
#made = affine_map<(t, h, c, y) -> (t, h, c)>

// CHECK-LABEL: func.func @two
// CHECK:         scf.forall
// Two rows of the first op, behind room for four: what a step finds at the end of a line is what it keeps.
// CHECK:           %[[LINE:.*]] = linalg.fill {{.*}} -> tensor<1x6x4xi32>
// CHECK:           %[[BEGUN:.*]] = linalg.generic {{.*}}npu.row_loop = 1
// CHECK:           } -> tensor<1x2x4xi32>
// CHECK:           %[[FIRST:.*]] = tensor.insert_slice %[[BEGUN]] into %[[LINE]][0, 4, 0] [1, 2, 4]
// CHECK:           scf.for %[[ROW:.*]] = %c0 to %c8 step %c4 iter_args(%[[HAVE:.*]] = %[[FIRST]], %[[OUT:.*]] = %{{.*}}) -> (tensor<1x6x4xi32>, tensor<1x8x4xi32>)
// CHECK:             %[[LAST:.*]] = tensor.extract_slice %[[HAVE]][0, 4, 0] [1, 2, 4]
// CHECK:             %[[KEPT:.*]] = tensor.insert_slice %[[LAST]] into %[[HAVE]][0, 0, 0] [1, 2, 4]
// CHECK:             %[[PLACE:.*]] = tensor.extract_slice %[[KEPT]][0, 2, 0] [1, 4, 4]
// CHECK:             %[[NEW:.*]] = linalg.generic {{.*}}
// CHECK:             } -> tensor<1x4x4xi32>
// CHECK:             %[[ALL:.*]] = tensor.insert_slice %[[NEW]] into %[[KEPT]][0, 2, 0] [1, 4, 4]
// CHECK:             %[[MADE:.*]] = linalg.generic {{.*}}ins(%[[ALL]], %arg1 :
// CHECK:             %[[LEFT:.*]] = tensor.insert_slice %[[MADE]] into %[[OUT]][0, %[[ROW]], 0] [1, 4, 4]
// CHECK:             scf.yield %[[ALL]], %[[LEFT]]
func.func @two(%x: tensor<20x4xi32>, %w: tensor<3xi32>) -> tensor<2x8x4xi32> {
  %z = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x10x4xi32>
  %f0 = linalg.fill ins(%z : i32) outs(%e0 : tensor<2x10x4xi32>) -> tensor<2x10x4xi32>
  %s = linalg.generic {indexing_maps = [#image, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<20x4xi32>, tensor<3xi32>) outs(%f0 : tensor<2x10x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [4], stream_l2 = [8], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x10x4xi32>
  %e1 = tensor.empty() : tensor<2x8x4xi32>
  %f1 = linalg.fill ins(%z : i32) outs(%e1 : tensor<2x8x4xi32>) -> tensor<2x8x4xi32>
  %r = linalg.generic {indexing_maps = [#inside, #taps, #made], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s, %w : tensor<2x10x4xi32>, tensor<3xi32>) outs(%f1 : tensor<2x8x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 1, npu.strategy = #npu.strategy<{grid = [2, 1], spread = [0, 1], tile_l1 = [1, 4], order = [0, 1], stream = [4], stream_l2 = [8], depth_l1 = 2, depth_l2 = 2, depth_result = 1}>} {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %q = arith.addi %o, %p : i32
    linalg.yield %q : i32
  } -> tensor<2x8x4xi32>
  return %r : tensor<2x8x4xi32>
}
