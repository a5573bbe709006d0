// What cores share goes into L2 once per block, a core's part of it into L1; what ops make for each other stays in L1.
// RUN: npuflow-opt %s --npuflow-promote-bundles --canonicalize --cse --split-input-file | filecheck %s

#rows = affine_map<(d0, d1) -> (d0)>
#columns = affine_map<(d0, d1) -> (d1)>
#same = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @two_ops
// CHECK-NOT:     linalg.copy
// CHECK:         %[[OUT:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x32xf32>
// CHECK:         %[[ALL:.*]] = scf.forall (%{{.*}}, %{{.*}}) in (2, 2) shared_outs(%[[SHARED:.*]] = %[[OUT]])
// Moved once for all cores, in the order in which their ops need it.
// CHECK:           %[[IN:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x32xf32>
// CHECK:           %[[BLOCK:.*]] = linalg.copy ins(%arg0 : tensor<64x32xf32>) outs(%[[IN]]
// CHECK:           %[[PART:.*]] = tensor.extract_slice %[[BLOCK]][%[[PLACE:.*]], 0] [16, 32]
// CHECK:           %[[BUFFER:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<16x32xf32>
// CHECK:           %[[TILE:.*]] = linalg.copy ins(%[[PART]] : tensor<16x32xf32>) outs(%[[BUFFER]]
// CHECK:           %[[FACTORS:.*]] = linalg.copy ins(%arg1 : tensor<32xf32>)
// CHECK:           %[[OWN:.*]] = linalg.copy ins(%[[FACTORS]]
// CHECK:           %[[SUM:.*]] = linalg.generic {{.*}}ins(%[[TILE]], %[[OWN]] : tensor<16x32xf32>, tensor<32xf32>)
// Read again, moved once; what the second op alone reads comes behind that.
// CHECK-NOT:       linalg.copy {{.*}}tensor<16x32xf32>
// CHECK:           %[[TERMS:.*]] = linalg.copy ins(%arg2 : tensor<16xf32>)
// CHECK:           linalg.copy ins(%[[TERMS]]
// CHECK-NOT:       linalg.copy
// CHECK:           %[[DONE:.*]] = linalg.generic {{.*}}ins(%[[TILE]], %[[SUM]], %{{.*}} :
// CHECK:           %[[TARGET:.*]] = tensor.extract_slice %[[SHARED]][%[[PLACE]], 0] [16, 32]
// CHECK:           linalg.copy ins(%[[DONE]] : tensor<16x32xf32>) outs(%[[TARGET]]
// CHECK:         linalg.copy ins(%[[ALL]] : tensor<64x32xf32>)
func.func @two_ops(%x: tensor<64x32xf32>, %factors: tensor<32xf32>, %terms: tensor<16xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %r = scf.forall (%y, %c) in (2, 2) shared_outs(%out = %e) -> (tensor<64x32xf32>) {
    %place = affine.apply affine_map<()[s0, s1] -> (s0 * 16 + s1 * 32)>()[%y, %c]
    %tile = tensor.extract_slice %x[%place, 0] [16, 32] [1, 1] : tensor<64x32xf32> to tensor<16x32xf32>
    %se = tensor.empty() : tensor<16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%se : tensor<16xf32>) -> tensor<16xf32>
    %s = linalg.generic {indexing_maps = [#same, #columns, #rows], iterator_types = ["parallel", "reduction"]} ins(%tile, %factors : tensor<16x32xf32>, tensor<32xf32>) outs(%f : tensor<16xf32>) attrs = {npu.bundle = 0} {
    ^bb0(%a: f32, %factor: f32, %sum: f32):
      %1 = arith.mulf %a, %factor : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<16xf32>
    %qe = tensor.empty() : tensor<16x32xf32>
    %q = linalg.generic {indexing_maps = [#same, #rows, #rows, #same], iterator_types = ["parallel", "parallel"]} ins(%tile, %s, %terms : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>) outs(%qe : tensor<16x32xf32>) attrs = {npu.bundle = 0} {
    ^bb0(%a: f32, %sum: f32, %term: f32, %o: f32):
      %1 = arith.divf %a, %sum : f32
      %2 = arith.addf %1, %term : f32
      linalg.yield %2 : f32
    } -> tensor<16x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %out[%place, 0] [16, 32] [1, 1] : tensor<16x32xf32> into tensor<64x32xf32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x32xf32>
}

// -----

#same = affine_map<(d0) -> (d0)>

// What no loop over blocks changes is moved in front of all of them; what no kernel reads isn't moved at all.
// CHECK-LABEL: func.func @outermost
// CHECK:         %[[ONCE:.*]] = linalg.copy ins(%arg1 : tensor<4xf32>)
// CHECK:         scf.for
// CHECK:           scf.forall
// CHECK-NOT:         linalg.copy ins(%arg2
// CHECK:             linalg.copy ins(%{{.*}} : tensor<8xf32>)
// CHECK:             linalg.copy ins(%[[ONCE]] : tensor<4xf32>)
// CHECK-NOT:         linalg.copy ins(%arg2
// CHECK:             linalg.generic
func.func @outermost(%x: tensor<32xf32>, %w: tensor<4xf32>, %unused: tensor<4xf32>) -> tensor<32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %e = tensor.empty() : tensor<32xf32>
  %r = scf.for %b = %c0 to %c32 step %c8 iter_args(%all = %e) -> (tensor<32xf32>) {
    %block = tensor.extract_slice %x[%b] [8] [1] : tensor<32xf32> to tensor<8xf32>
    %be = tensor.empty() : tensor<8xf32>
    %t = scf.forall (%y, %c) in (1, 2) shared_outs(%out = %be) -> (tensor<8xf32>) {
      %place = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%c]
      %tile = tensor.extract_slice %block[%place] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %te = tensor.empty() : tensor<4xf32>
      %q = linalg.generic {indexing_maps = [#same, #same, #same, #same], iterator_types = ["parallel"]} ins(%tile, %w, %unused : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%te : tensor<4xf32>) attrs = {npu.bundle = 0} {
      ^bb0(%a: f32, %s: f32, %u: f32, %o: f32):
        %1 = arith.mulf %a, %s : f32
        linalg.yield %1 : f32
      } -> tensor<4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %q into %out[%place] [4] [1] : tensor<4xf32> into tensor<8xf32>
      }
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    %n = tensor.insert_slice %t into %all[%b] [8] [1] : tensor<8xf32> into tensor<32xf32>
    scf.yield %n : tensor<32xf32>
  }
  return %r : tensor<32xf32>
}

// -----

// Grids without bundles are others' business.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT:     alloc_tensor
func.func @nothing(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = scf.forall (%y) in (2) shared_outs(%out = %x) -> (tensor<8xf32>) {
    %place = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%y]
    %tile = tensor.extract_slice %x[%place] [4] [1] : tensor<8xf32> to tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %tile into %out[%place] [4] [1] : tensor<4xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}

// -----

#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// Rows of cores read rows of the one and columns of the other: a block in L2 for each, as it is divided by its readers.
// CHECK-LABEL: func.func @two_ways
// CHECK-COUNT-2: linalg.copy ins(%arg0 : tensor<8x8xi32>)
// CHECK:         scf.forall
func.func @two_ways(%x: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %e = tensor.empty() : tensor<8x8xi32>
  %r = scf.forall (%y, %c) in (2, 2) shared_outs(%out = %e) -> (tensor<8x8xi32>) {
    %row = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%y]
    %column = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%c]
    %there = tensor.extract_slice %x[%row, %column] [4, 4] [1, 1] : tensor<8x8xi32> to tensor<4x4xi32>
    %back = tensor.extract_slice %x[%column, %row] [4, 4] [1, 1] : tensor<8x8xi32> to tensor<4x4xi32>
    %te = tensor.empty() : tensor<4x4xi32>
    %q = linalg.generic {indexing_maps = [#same, #turned, #same], iterator_types = ["parallel", "parallel"]} ins(%there, %back : tensor<4x4xi32>, tensor<4x4xi32>) outs(%te : tensor<4x4xi32>) attrs = {npu.bundle = 0} {
    ^bb0(%a: i32, %b: i32, %o: i32):
      %1 = arith.addi %a, %b : i32
      linalg.yield %1 : i32
    } -> tensor<4x4xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %out[%row, %column] [4, 4] [1, 1] : tensor<4x4xi32> into tensor<8x8xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<8x8xi32>
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#sum = affine_map<(m, n, k) -> (m, n)>

// L2 gets 16 of a sum's steps at a time, for all cores; what goes on to L1 are 4 of these, for one.
// CHECK-LABEL: func.func @pieces_in_l2
// CHECK:         scf.forall
// CHECK:           scf.for %[[K:.*]] = %c0 to %c64 step %c16
// CHECK:             %[[PIECE:.*]] = tensor.extract_slice %arg0[0, %[[K]]] [8, 16]
// CHECK:             %[[L2:.*]] = linalg.copy ins(%[[PIECE]] : tensor<8x16xi8>)
// CHECK:             scf.for %[[J:.*]] = %c0 to %c16 step %c4
// CHECK:               %[[PART:.*]] = tensor.extract_slice %[[L2]][%{{.*}}, %[[J]]] [4, 4]
// CHECK:               linalg.copy ins(%[[PART]] : tensor<4x4xi8>) outs(%{{.*}} : tensor<4x4xi8>)
func.func @pieces_in_l2(%a: tensor<8x64xi8>, %b: tensor<64x8xi8>) -> tensor<8x8xi32> {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %e = tensor.empty() : tensor<8x8xi32>
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<8x8xi32>) {
    %place = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%y]
    %te = tensor.empty() : tensor<4x8xi32>
    %f = linalg.fill ins(%zero : i32) outs(%te : tensor<4x8xi32>) -> tensor<4x8xi32>
    %t = scf.for %k = %c0 to %c64 step %c16 iter_args(%outer = %f) -> (tensor<4x8xi32>) {
      %u = scf.for %j = %c0 to %c16 step %c4 iter_args(%inner = %outer) -> (tensor<4x8xi32>) {
        %ak = tensor.extract_slice %a[0, %k] [8, 16] [1, 1] : tensor<8x64xi8> to tensor<8x16xi8>
        %aj = tensor.extract_slice %ak[%place, %j] [4, 4] [1, 1] : tensor<8x16xi8> to tensor<4x4xi8>
        %bk = tensor.extract_slice %b[%k, 0] [16, 8] [1, 1] : tensor<64x8xi8> to tensor<16x8xi8>
        %bj = tensor.extract_slice %bk[%j, 0] [4, 8] [1, 1] : tensor<16x8xi8> to tensor<4x8xi8>
        %q = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%aj, %bj : tensor<4x4xi8>, tensor<4x8xi8>) outs(%inner : tensor<4x8xi32>) attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [2, 1], order = [0, 1], spread = [0, 1], stream = [4], stream_l2 = [16], tile_l1 = [4, 8]}>} {
        ^bb0(%p: i8, %w: i8, %s: i32):
          %1 = arith.extsi %p : i8 to i32
          %2 = arith.extsi %w : i8 to i32
          %3 = arith.muli %1, %2 : i32
          %4 = arith.addi %s, %3 : i32
          linalg.yield %4 : i32
        } -> tensor<4x8xi32>
        scf.yield %q : tensor<4x8xi32>
      }
      scf.yield %u : tensor<4x8xi32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %out[%place, 0] [4, 8] [1, 1] : tensor<4x8xi32> into tensor<8x8xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<8x8xi32>
}
