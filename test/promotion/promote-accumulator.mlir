// The sum lives in L1, the block's result in L2, from where it leaves.
// RUN: npuflow-opt %s --npuflow-promote-accumulator --cse | filecheck %s

// A filled sum never moves inward: both buffers start empty.
// CHECK-LABEL: func.func @filled
// CHECK:         %[[L2:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x64xi32>
// CHECK:         scf.forall (%[[Y:.*]], %[[X:.*]]) in (2, 2) shared_outs(%[[OUT:.*]] = %[[L2]])
// CHECK:           %[[L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<32x32xi32>
// CHECK-NEXT:      %[[F:.*]] = linalg.fill ins(%{{.*}}) outs(%[[L1]]
// CHECK-NEXT:      %[[R:.*]] = linalg.matmul {{.*}} outs(%[[F]]
// CHECK-NEXT:      %[[PART:.*]] = tensor.extract_slice %[[OUT]][%[[ROW:.*]], %[[COLUMN:.*]]] [32, 32] [1, 1]
// CHECK-NEXT:      %[[C:.*]] = linalg.copy ins(%[[R]] : {{.*}}) outs(%[[PART]] :
// CHECK:           tensor.parallel_insert_slice %[[C]] into %[[OUT]][%[[ROW]], %[[COLUMN]]] [32, 32] [1, 1]
func.func @filled(%a: tensor<64x8xi32>, %b: tensor<8x64xi32>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %r = scf.forall (%y, %x) in (2, 2) shared_outs(%out = %e) -> (tensor<64x64xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %column = affine.apply affine_map<(d0) -> (d0 * 32)>(%x)
    %ar = tensor.extract_slice %a[%row, 0] [32, 8] [1, 1] : tensor<64x8xi32> to tensor<32x8xi32>
    %bc = tensor.extract_slice %b[0, %column] [8, 32] [1, 1] : tensor<8x64xi32> to tensor<8x32xi32>
    %t = tensor.empty() : tensor<32x32xi32>
    %f = linalg.fill ins(%zero : i32) outs(%t : tensor<32x32xi32>) -> tensor<32x32xi32>
    %m = linalg.matmul ins(%ar, %bc : tensor<32x8xi32>, tensor<8x32xi32>) outs(%f : tensor<32x32xi32>) -> tensor<32x32xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %m into %out[%row, %column] [32, 32] [1, 1] : tensor<32x32xi32> into tensor<64x64xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x64xi32>
}

// A given sum is read once: into the result's buffer in L2, padded there, and from there into L1.
// CHECK-LABEL: func.func @given
// CHECK-SAME:    %[[GIVEN:.*]]: tensor<60x64xi32>
// CHECK-NOT:     tensor.pad
// CHECK:         %[[L2:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x64xi32>
// CHECK:         %[[ZEROS:.*]] = linalg.fill ins(%{{.*}}) outs(%[[L2]]
// CHECK:         linalg.copy ins(%{{.*}} : tensor<60x64xi32>)
// CHECK:         %[[START:.*]] = tensor.insert_slice %{{.*}} into %[[ZEROS]][0, 0] [60, 64] [1, 1]
// CHECK:         scf.forall {{.*}} shared_outs(%[[OUT:.*]] = %[[START]])
// CHECK:           %[[PART:.*]] = tensor.extract_slice %[[OUT]]
// CHECK:           %[[L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<32x64xi32>
// CHECK-NEXT:      %[[C:.*]] = linalg.copy ins(%[[PART]] : {{.*}}) outs(%[[L1]]
// CHECK-NEXT:      linalg.matmul {{.*}} outs(%[[C]]
func.func @given(%c: tensor<60x64xi32>, %a: tensor<64x8xi32>, %b: tensor<8x64xi32>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %p = tensor.pad %c low[0, 0] high[4, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : i32
  } : tensor<60x64xi32> to tensor<64x64xi32>
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %p) -> (tensor<64x64xi32>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %ar = tensor.extract_slice %a[%row, 0] [32, 8] [1, 1] : tensor<64x8xi32> to tensor<32x8xi32>
    %t = tensor.extract_slice %out[%row, 0] [32, 64] [1, 1] : tensor<64x64xi32> to tensor<32x64xi32>
    %m = linalg.matmul ins(%ar, %b : tensor<32x8xi32>, tensor<8x64xi32>) outs(%t : tensor<32x64xi32>) -> tensor<32x64xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %m into %out[%row, 0] [32, 64] [1, 1] : tensor<32x64xi32> into tensor<64x64xi32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x64xi32>
}

// Behind a tail of another type the given sum needs an L2 buffer of its own.
// CHECK-LABEL: func.func @given_with_tail
// CHECK-SAME:    %[[GIVEN:[^:]*]]: tensor<64x8xi32>
// CHECK:         %[[RESULT:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x8xi8>
// CHECK:         %[[L2:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x8xi32>
// CHECK-NEXT:    %[[SUM:.*]] = linalg.copy ins(%{{.*}} : tensor<64x8xi32>) outs(%[[L2]]
// CHECK:         scf.forall {{.*}} shared_outs(%{{.*}} = %[[RESULT]])
// CHECK:           %[[PART:.*]] = tensor.extract_slice %[[SUM]][%{{.*}}, 0] [32, 8] [1, 1]
// CHECK:           %[[L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<32x8xi32>
// CHECK-NEXT:      linalg.copy ins(%[[PART]] : {{.*}}) outs(%[[L1]]
// CHECK:           %[[T:.*]] = linalg.generic
// CHECK:           linalg.copy ins(%[[T]] : tensor<32x8xi8>)
func.func @given_with_tail(%c: tensor<64x8xi32>, %a: tensor<64x8xi32>, %b: tensor<8x8xi32>) -> tensor<64x8xi8> {
  %e = tensor.empty() : tensor<64x8xi8>
  %r = scf.forall (%y, %x) in (2, 1) shared_outs(%out = %e) -> (tensor<64x8xi8>) {
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%y)
    %ar = tensor.extract_slice %a[%row, 0] [32, 8] [1, 1] : tensor<64x8xi32> to tensor<32x8xi32>
    %s = tensor.extract_slice %c[%row, 0] [32, 8] [1, 1] : tensor<64x8xi32> to tensor<32x8xi32>
    %m = linalg.matmul ins(%ar, %b : tensor<32x8xi32>, tensor<8x8xi32>) outs(%s : tensor<32x8xi32>) -> tensor<32x8xi32>
    %o = tensor.empty() : tensor<32x8xi8>
    %t = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
        ins(%m : tensor<32x8xi32>) outs(%o : tensor<32x8xi8>) {
    ^bb0(%v: i32, %w: i8):
      %u = arith.trunci %v : i32 to i8
      linalg.yield %u : i8
    } -> tensor<32x8xi8>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %out[%row, 0] [32, 8] [1, 1] : tensor<32x8xi8> into tensor<64x8xi8>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  return %r : tensor<64x8xi8>
}

// Without a grid of cores the same happens around the matmul itself; what isn't inserted anywhere is written to L3.
// CHECK-LABEL: func.func @no_grid
// CHECK:         %[[L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<1x4x8xi32>
// CHECK-NEXT:    %[[F:.*]] = linalg.fill ins(%{{.*}}) outs(%[[L1]]
// CHECK-NEXT:    %[[R:.*]] = linalg.batch_matmul {{.*}} outs(%[[F]]
// CHECK-NEXT:    %[[L2:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<1x4x8xi32>
// CHECK-NEXT:    %[[C:.*]] = linalg.copy ins(%[[R]] : {{.*}}) outs(%[[L2]]
// CHECK-NEXT:    %[[E:.*]] = tensor.empty() : tensor<1x4x8xi32>
// CHECK-NEXT:    %[[W:.*]] = linalg.copy ins(%[[C]] : {{.*}}) outs(%[[E]]
// CHECK-NEXT:    return %[[W]]
func.func @no_grid(%a: tensor<1x4x8xi32>, %b: tensor<1x8x8xi32>) -> tensor<1x4x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1x4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x4x8xi32>) -> tensor<1x4x8xi32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<1x4x8xi32>, tensor<1x8x8xi32>) outs(%f : tensor<1x4x8xi32>) -> tensor<1x4x8xi32>
  return %r : tensor<1x4x8xi32>
}

// CHECK-LABEL: func.func @no_matmul
// CHECK-NEXT:    return
func.func @no_matmul(%a: tensor<8xi32>) -> tensor<8xi32> {
  return %a : tensor<8xi32>
}
