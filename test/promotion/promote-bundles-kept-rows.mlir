// Rows that are kept have a line in L1 that ops write parts of; what a step makes leaves for its place in L2.
// RUN: npuflow-opt %s --npuflow-promote-bundles --canonicalize --cse | filecheck %s

#whole = affine_map<(h, c) -> (h, c)>
#taps = affine_map<(h, c, y) -> (h + y, c)>
#window = affine_map<(h, c, y) -> (y)>
#made = affine_map<(h, c, y) -> (h, c)>

// CHECK-LABEL: func.func @line
// All that the block needs is in L2 at once, that of the first rows included.
// CHECK:         %[[X:.*]] = linalg.copy ins(%arg0 : tensor<10x4xi32>)
// CHECK:         %[[OUT:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<8x4xi32>
// CHECK:         scf.forall {{.*}} shared_outs(%[[SHARED:.*]] = %[[OUT]])
// CHECK:           %[[BUFFER:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<6x4xi32>
// CHECK:           %[[LINE:.*]] = linalg.fill ins({{.*}}) outs(%[[BUFFER]] :
// CHECK:           tensor.extract_slice %[[X]][0, 0] [2, 4]
// CHECK:           linalg.copy {{.*}} outs(%{{.*}} : tensor<2x4xi32>)
// CHECK:           tensor.insert_slice %{{.*}} into %[[LINE]][4, 0] [2, 4]
// CHECK:           scf.for %[[ROW:.*]] = {{.*}}iter_args(%[[HAVE:.*]] = %{{.*}}, %[[LEFT:.*]] = %[[SHARED]])
// CHECK:             %[[PLACE:.*]] = tensor.extract_slice %{{.*}}[2, 0] [4, 4]
// CHECK:             tensor.extract_slice %[[X]][%{{.*}}, 0] [4, 4]
// Written where it is kept.
// CHECK:             linalg.generic {{.*}} outs(%[[PLACE]] : tensor<4x4xi32>)
// CHECK:             %[[MADE:.*]] = linalg.generic {{.*}}"reduction"
// CHECK:             %[[TARGET:.*]] = tensor.extract_slice %[[LEFT]][%[[ROW]], 0] [4, 4]
// CHECK:             linalg.copy ins(%[[MADE]] : tensor<4x4xi32>) outs(%[[TARGET]] : tensor<4x4xi32>)
func.func @line(%x: tensor<10x4xi32>, %w: tensor<3xi32>) -> tensor<8x4xi32> {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<8x4xi32>
  %r = scf.forall (%y, %z) in (1, 1) shared_outs(%out = %e) -> (tensor<8x4xi32>) {
    %le = tensor.empty() : tensor<6x4xi32>
    %l = linalg.fill ins(%zero : i32) outs(%le : tensor<6x4xi32>) -> tensor<6x4xi32>
    %xb = tensor.extract_slice %x[0, 0] [2, 4] [1, 1] : tensor<10x4xi32> to tensor<2x4xi32>
    %lb = tensor.extract_slice %l[4, 0] [2, 4] [1, 1] : tensor<6x4xi32> to tensor<2x4xi32>
    %b = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%xb : tensor<2x4xi32>) outs(%lb : tensor<2x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 0} {
    ^bb0(%a: i32, %o: i32):
      %n = arith.maxsi %a, %zero : i32
      linalg.yield %n : i32
    } -> tensor<2x4xi32>
    %first = tensor.insert_slice %b into %l[4, 0] [2, 4] [1, 1] : tensor<2x4xi32> into tensor<6x4xi32>
    %te = tensor.empty() : tensor<8x4xi32>
    %s:2 = scf.for %i = %c0 to %c8 step %c4 iter_args(%have = %first, %left = %te) -> (tensor<6x4xi32>, tensor<8x4xi32>) {
      %last = tensor.extract_slice %have[4, 0] [2, 4] [1, 1] : tensor<6x4xi32> to tensor<2x4xi32>
      %kept = tensor.insert_slice %last into %have[0, 0] [2, 4] [1, 1] : tensor<2x4xi32> into tensor<6x4xi32>
      %place = affine.apply affine_map<(i) -> (i + 2)>(%i)
      %xs = tensor.extract_slice %x[%place, 0] [4, 4] [1, 1] : tensor<10x4xi32> to tensor<4x4xi32>
      %ls = tensor.extract_slice %kept[2, 0] [4, 4] [1, 1] : tensor<6x4xi32> to tensor<4x4xi32>
      %n = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]} ins(%xs : tensor<4x4xi32>) outs(%ls : tensor<4x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 0} {
      ^bb0(%a: i32, %o: i32):
        %m = arith.maxsi %a, %zero : i32
        linalg.yield %m : i32
      } -> tensor<4x4xi32>
      %all = tensor.insert_slice %n into %kept[2, 0] [4, 4] [1, 1] : tensor<4x4xi32> into tensor<6x4xi32>
      %qe = tensor.empty() : tensor<4x4xi32>
      %f = linalg.fill ins(%zero : i32) outs(%qe : tensor<4x4xi32>) -> tensor<4x4xi32>
      %q = linalg.generic {indexing_maps = [#taps, #window, #made], iterator_types = ["parallel", "parallel", "reduction"]} ins(%all, %w : tensor<6x4xi32>, tensor<3xi32>) outs(%f : tensor<4x4xi32>) attrs = {npu.bundle = 0, npu.row_loop = 0} {
      ^bb0(%a: i32, %b1: i32, %o: i32):
        %p = arith.muli %a, %b1 : i32
        %t = arith.addi %o, %p : i32
        linalg.yield %t : i32
      } -> tensor<4x4xi32>
      %put = tensor.insert_slice %q into %left[%i, 0] [4, 4] [1, 1] : tensor<4x4xi32> into tensor<8x4xi32>
      scf.yield %all, %put : tensor<6x4xi32>, tensor<8x4xi32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#1 into %out[0, 0] [8, 4] [1, 1] : tensor<8x4xi32> into tensor<8x4xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<8x4xi32>
}
