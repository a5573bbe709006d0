// Operands and sum in tiles of the instruction's shape, in L1; the tail works on them as they lie.
// RUN: npuflow-opt %s --npuflow-pack-operands=pack=4,8,16 --mlir-print-local-scope | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK-SAME:    %[[A:[^:]*]]: tensor<32x64xi8>, %[[B:[^:]*]]: tensor<64x16xi8>, %[[C:[^:]*]]: tensor<32x16xi32>
// CHECK-DAG:     %[[A_L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<8x4x4x16xi8>
// CHECK-DAG:     %[[B_L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<4x2x16x8xi8>
// CHECK-DAG:     %[[C_L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<8x2x4x8xi32>
// CHECK-DAG:     %[[AP:.*]] = linalg.pack %[[A]] inner_dims_pos = [0, 1] inner_tiles = [4, 16] into %[[A_L1]]
// CHECK-DAG:     %[[BP:.*]] = linalg.pack %[[B]] inner_dims_pos = [0, 1] inner_tiles = [16, 8] into %[[B_L1]]
// CHECK-DAG:     %[[CP:.*]] = linalg.pack %[[C]] inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %[[C_L1]]
// CHECK:         %[[R:.*]] = linalg.generic
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d1, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4)>
// CHECK-SAME:      ins(%[[AP]], %[[BP]] : {{.*}}) outs(%[[CP]] : {{.*}}) attrs =  {npu.strategy = #npu.strategy<{grid = [1, 1]}>}
// CHECK:         linalg.unpack %[[R]] inner_dims_pos = [0, 1] inner_tiles = [4, 8] into
func.func @matmul(%a: tensor<32x64xi8>, %b: tensor<64x16xi8>, %c: tensor<32x16xi32>) -> tensor<32x16xi32> {
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1]}>} ins(%a, %b : tensor<32x64xi8>, tensor<64x16xi8>) outs(%c : tensor<32x16xi32>) -> tensor<32x16xi32>
  return %r : tensor<32x16xi32>
}

// Transposed operands lie in the same tiles as others, so the instruction sees no difference; batch dimensions stay.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    %[[A:[^:]*]]: tensor<1x64x32xi8>, %[[B:[^:]*]]: tensor<1x16x64xi8>
// CHECK-DAG:     linalg.pack %[[A]] {{.*}} -> tensor<1x4x8x4x16xi8>
// CHECK-DAG:     linalg.pack %[[B]] {{.*}} -> tensor<1x2x4x16x8xi8>
// CHECK:         linalg.generic
func.func @transposed(%a: tensor<1x64x32xi8>, %b: tensor<1x16x64xi8>, %c: tensor<1x32x16xi32>) -> tensor<1x32x16xi32> {
  %r = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%a, %b : tensor<1x64x32xi8>, tensor<1x16x64xi8>) outs(%c : tensor<1x32x16xi32>) -> tensor<1x32x16xi32>
  return %r : tensor<1x32x16xi32>
}

// The tail is packed alike and reads the packed sum; its result and what comes from L2 get buffers in L1.
// CHECK-LABEL: func.func @tail
// CHECK-SAME:    %[[BIAS:[^:]*]]: tensor<16xi32>
// CHECK:         linalg.generic {{.*}}"reduction"
// CHECK-DAG:     %[[BIAS_L1:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<2x8xi32>
// CHECK-DAG:     %[[RESULT:.*]] = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<8x2x4x8xi8>
// CHECK-DAG:     %[[BP:.*]] = linalg.pack %[[BIAS]] inner_dims_pos = [0] inner_tiles = [8] into %[[BIAS_L1]]
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[BP]] : tensor<8x2x4x8xi32>, tensor<2x8xi32>) outs(%[[RESULT]] : tensor<8x2x4x8xi8>)
// CHECK:         linalg.unpack %[[T]] inner_dims_pos = [0, 1] inner_tiles = [4, 8]
func.func @tail(%bias: tensor<16xi32>, %a: tensor<32x64xi8>, %b: tensor<64x16xi8>, %c: tensor<32x16xi32>) -> tensor<32x16xi8> {
  %r = linalg.matmul ins(%a, %b : tensor<32x64xi8>, tensor<64x16xi8>) outs(%c : tensor<32x16xi32>) -> tensor<32x16xi32>
  %e = tensor.empty() : tensor<32x16xi8>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<32x16xi32>, tensor<16xi32>) outs(%e : tensor<32x16xi8>) {
  ^bb0(%x: i32, %y: i32, %o: i8):
    %s = arith.addi %x, %y : i32
    %u = arith.trunci %s : i32 to i8
    linalg.yield %u : i8
  } -> tensor<32x16xi8>
  return %t : tensor<32x16xi8>
}

// CHECK-LABEL: func.func @no_matmul
// CHECK-NEXT:    return
func.func @no_matmul(%a: tensor<8xi32>) -> tensor<8xi32> {
  return %a : tensor<8xi32>
}
