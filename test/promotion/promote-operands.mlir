// Operands into L2: the slice that all cores share, in the innermost loop it depends on, boundary tiles padded on the way.
// RUN: npuflow-opt %s --npuflow-promote-operands --canonicalize --cse | filecheck %s
// RUN: npuflow-opt %s --npuflow-promote-operands="tile-copies=true copy-k=16" --canonicalize --cse | filecheck %s --check-prefix=PIECES

// All cores' rows of this piece of K, not this core's.
// CHECK-LABEL: func.func @streamed
// CHECK-SAME:    %[[A:[^:]*]]: tensor<64x64xi32>, %[[B:[^:]*]]: tensor<64x32xi32>
// CHECK:         scf.forall (%[[Y:.*]], %{{.*}}) in (2, 1)
// CHECK:           %[[ROW:.*]] = affine.apply
// CHECK:           scf.for %[[K:.*]] = %c0 to %c64 step %c32
// CHECK-DAG:         %[[A_L3:.*]] = tensor.extract_slice %[[A]][0, %[[K]]] [64, 32] [1, 1]
// CHECK-DAG:         %[[A_BUFFER:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x32xi32>
// CHECK:             %[[A_L2:.*]] = linalg.copy ins(%[[A_L3]] : {{.*}}) outs(%[[A_BUFFER]]
// CHECK:             %[[A_CORE:.*]] = tensor.extract_slice %[[A_L2]][%[[ROW]], 0] [32, 32] [1, 1]
// CHECK:             %[[B_L3:.*]] = tensor.extract_slice %[[B]][%[[K]], 0] [32, 32] [1, 1]
// CHECK:             %[[B_L2:.*]] = linalg.copy ins(%[[B_L3]]
// CHECK:             linalg.matmul ins(%[[A_CORE]], %[[B_L2]] :
func.func @streamed(%a: tensor<64x64xi32>, %b: tensor<64x32xi32>, %e: tensor<64x32xi32>) -> tensor<64x32xi32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<64x32xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %ar = tensor.extract_slice %a[%row, 0] [32, 64] [1, 1] : tensor<64x64xi32> to tensor<32x64xi32>
    %t = tensor.empty() : tensor<32x32xi32>
    %s = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %t) -> (tensor<32x32xi32>) {
      %ak = tensor.extract_slice %ar[0, %k] [32, 32] [1, 1] : tensor<32x64xi32> to tensor<32x32xi32>
      %bk = tensor.extract_slice %b[%k, 0] [32, 32] [1, 1] : tensor<64x32xi32> to tensor<32x32xi32>
      %m = linalg.matmul ins(%ak, %bk : tensor<32x32xi32>, tensor<32x32xi32>) outs(%acc : tensor<32x32xi32>) -> tensor<32x32xi32>
      scf.yield %m : tensor<32x32xi32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %out[%row, 0] [32, 32] [1, 1] : tensor<32x32xi32> into tensor<64x32xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x32xi32>
}

// What doesn't depend on K is moved once, before the cores start; the pad becomes zeros in L2 around the valid part.
// CHECK-LABEL: func.func @once
// CHECK-SAME:    %[[A:[^:]*]]: tensor<60x20xi32>
// CHECK-NOT:     tensor.pad
// CHECK:         %[[BUFFER:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x32xi32>
// CHECK:         %[[ZEROS:.*]] = linalg.fill ins(%{{.*}}) outs(%[[BUFFER]]
// CHECK:         %[[VALID:.*]] = tensor.extract_slice %[[ZEROS]][0, 0] [60, 20] [1, 1]
// CHECK:         %[[MOVED:.*]] = linalg.copy ins(%[[A]] : tensor<60x20xi32>) outs(%[[VALID]]
// CHECK:         %[[A_L2:.*]] = tensor.insert_slice %[[MOVED]] into %[[ZEROS]][0, 0] [60, 20] [1, 1]
// CHECK:         %[[B_L2:.*]] = linalg.copy ins(%{{.*}} : tensor<32x8xi32>)
// CHECK:         scf.forall
// CHECK-NOT:       linalg.copy
// CHECK:           %[[A_CORE:.*]] = tensor.extract_slice %[[A_L2]][%{{.*}}, 0] [32, 32] [1, 1]
// CHECK:           linalg.matmul ins(%[[A_CORE]], %[[B_L2]] :

// PIECES-LABEL: func.func @once
// PIECES:         scf.for %[[K:.*]] = %c0 to %{{.*}} step %c16
// PIECES:           linalg.copy ins(%{{.*}} : tensor<60x?xi32>)
// PIECES:         scf.for %[[K:.*]] = %c0 to %{{.*}} step %c16
// PIECES:           linalg.copy ins(%{{.*}} : tensor<16x8xi32>)
// PIECES:         scf.forall
// PIECES-NOT:       linalg.copy
// PIECES:           linalg.matmul
func.func @once(%a: tensor<60x20xi32>, %b: tensor<32x8xi32>, %e: tensor<64x8xi32>) -> tensor<64x8xi32> {
  %zero = arith.constant 0 : i32
  %p = tensor.pad %a low[0, 0] high[4, 12] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : i32
  } : tensor<60x20xi32> to tensor<64x32xi32>
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<64x8xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %ar = tensor.extract_slice %p[%row, 0] [32, 32] [1, 1] : tensor<64x32xi32> to tensor<32x32xi32>
    %t = tensor.empty() : tensor<32x8xi32>
    %m = linalg.matmul ins(%ar, %b : tensor<32x32xi32>, tensor<32x8xi32>) outs(%t : tensor<32x8xi32>) -> tensor<32x8xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %m into %out[%row, 0] [32, 8] [1, 1] : tensor<32x8xi32> into tensor<64x8xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x8xi32>
}

// What the tail reads comes along; a constant of one value, whose slices folded away, is the same for all cores.
// CHECK-LABEL: func.func @tail_and_constant
// CHECK-SAME:    %[[A:[^:]*]]: tensor<64x8xi32>, %[[BIAS:[^:]*]]: tensor<64xi32>
// CHECK-DAG:     %[[ONES:.*]] = arith.constant dense<1> : tensor<8x8xi32>
// CHECK-DAG:     %[[A_L2:.*]] = linalg.copy ins(%[[A]]
// CHECK-DAG:     %[[ONES_L2:.*]] = linalg.copy ins(%[[ONES]]
// CHECK-DAG:     %[[BIAS_L2:.*]] = linalg.copy ins(%[[BIAS]]
// CHECK:         scf.forall
// CHECK-NOT:       linalg.copy
// CHECK:           %[[R:.*]] = linalg.matmul ins(%{{.*}}, %[[ONES_L2]] :
// CHECK:           %[[BIAS_CORE:.*]] = tensor.extract_slice %[[BIAS_L2]][%{{.*}}] [32] [1]
// CHECK:           linalg.generic {{.*}} ins(%[[R]], %[[BIAS_CORE]] :
func.func @tail_and_constant(%a: tensor<64x8xi32>, %bias: tensor<64xi32>, %e: tensor<64x8xi32>) -> tensor<64x8xi32> {
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<64x8xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %ones = arith.constant dense<1> : tensor<8x8xi32>
    %ar = tensor.extract_slice %a[%row, 0] [32, 8] [1, 1] : tensor<64x8xi32> to tensor<32x8xi32>
    %br = tensor.extract_slice %bias[%row] [32] [1] : tensor<64xi32> to tensor<32xi32>
    %t = tensor.empty() : tensor<32x8xi32>
    %m = linalg.matmul ins(%ar, %ones : tensor<32x8xi32>, tensor<8x8xi32>) outs(%t : tensor<32x8xi32>) -> tensor<32x8xi32>
    %g = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
        ins(%m, %br : tensor<32x8xi32>, tensor<32xi32>) outs(%t : tensor<32x8xi32>) {
    ^bb0(%v: i32, %w: i32, %o: i32):
      %u = arith.addi %v, %w : i32
      linalg.yield %u : i32
    } -> tensor<32x8xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %g into %out[%row, 0] [32, 8] [1, 1] : tensor<32x8xi32> into tensor<64x8xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x8xi32>
}
