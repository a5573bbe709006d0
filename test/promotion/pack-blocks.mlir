// L2 laid out in the tiles that cores read: the movement from L3 becomes a pack.
// RUN: npuflow-opt %s --npuflow-pack-blocks --canonicalize --cse | filecheck %s

// CHECK-LABEL: func.func @full
// CHECK-SAME:    %[[A:[^:]*]]: tensor<64x32xi32>, %[[B:[^:]*]]: tensor<32x8xi32>, %[[C:[^:]*]]: tensor<16x8xi32>, %[[ROW:[^:]*]]: index, %[[K:[^:]*]]: index
// CHECK-DAG:     %[[BUFFER:.*]] = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<4x2x16x16xi32>
// CHECK-DAG:     %[[A_L2:.*]] = linalg.pack %[[A]] inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %[[BUFFER]]
// CHECK-DAG:     %[[I:.*]] = affine.apply #{{.*}}()[%[[ROW]]]
// CHECK-DAG:     %[[J:.*]] = affine.apply #{{.*}}()[%[[K]]]
// CHECK-DAG:     %[[TILE:.*]] = tensor.extract_slice %[[A_L2]][%[[I]], %[[J]], 0, 0] [1, 1, 16, 16] [1, 1, 1, 1] : tensor<4x2x16x16xi32> to tensor<16x16xi32>
// CHECK:         linalg.matmul ins(%[[TILE]], %{{.*}} :
func.func @full(%a: tensor<64x32xi32>, %b: tensor<32x8xi32>, %c: tensor<16x8xi32>, %row: index, %k: index) -> tensor<16x8xi32> {
  %ea = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x32xi32>
  %a2 = linalg.copy ins(%a : tensor<64x32xi32>) outs(%ea : tensor<64x32xi32>) -> tensor<64x32xi32>
  %ar = tensor.extract_slice %a2[%row, 0] [16, 32] [1, 1] : tensor<64x32xi32> to tensor<16x32xi32>
  %at = tensor.extract_slice %ar[0, %k] [16, 16] [1, 1] : tensor<16x32xi32> to tensor<16x16xi32>
  %bt = tensor.extract_slice %b[%k, 0] [16, 8] [1, 1] : tensor<32x8xi32> to tensor<16x8xi32>
  %r = linalg.matmul ins(%at, %bt : tensor<16x16xi32>, tensor<16x8xi32>) outs(%c : tensor<16x8xi32>) -> tensor<16x8xi32>
  return %r : tensor<16x8xi32>
}

// A boundary block: its valid part is packed with zeros into a buffer of zeros; only the tiles with valid elements.
// CHECK-LABEL: func.func @partial
// CHECK-SAME:    %[[A:[^:]*]]: tensor<20x32xi32>
// CHECK:         %[[ZEROS:.*]] = linalg.fill ins(%{{.*}}) outs(%{{.*}} : tensor<4x2x16x16xi32>)
// CHECK:         %[[VALID:.*]] = tensor.extract_slice %[[ZEROS]][0, 0, 0, 0] [2, 2, 16, 16] [1, 1, 1, 1]
// CHECK:         %[[P:.*]] = linalg.pack %[[A]] padding_value(%{{.*}} : i32) inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %[[VALID]] : tensor<20x32xi32> -> tensor<2x2x16x16xi32>
// CHECK:         tensor.insert_slice %[[P]] into %[[ZEROS]][0, 0, 0, 0] [2, 2, 16, 16]
func.func @partial(%a: tensor<20x32xi32>, %b: tensor<16x8xi32>, %c: tensor<16x8xi32>, %row: index) -> tensor<16x8xi32> {
  %zero = arith.constant 0 : i32
  %ea = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%ea : tensor<64x32xi32>) -> tensor<64x32xi32>
  %v = tensor.extract_slice %f[0, 0] [20, 32] [1, 1] : tensor<64x32xi32> to tensor<20x32xi32>
  %m = linalg.copy ins(%a : tensor<20x32xi32>) outs(%v : tensor<20x32xi32>) -> tensor<20x32xi32>
  %a2 = tensor.insert_slice %m into %f[0, 0] [20, 32] [1, 1] : tensor<20x32xi32> into tensor<64x32xi32>
  %at = tensor.extract_slice %a2[%row, 0] [16, 16] [1, 1] : tensor<64x32xi32> to tensor<16x16xi32>
  %r = linalg.matmul ins(%at, %b : tensor<16x16xi32>, tensor<16x8xi32>) outs(%c : tensor<16x8xi32>) -> tensor<16x8xi32>
  return %r : tensor<16x8xi32>
}

// Batch dimensions aren't tiled.
// CHECK-LABEL: func.func @batch
// CHECK:         linalg.pack %{{.*}} inner_dims_pos = [1, 2] inner_tiles = [16, 16] into %{{.*}} : tensor<1x32x32xi32> -> tensor<1x2x2x16x16xi32>
func.func @batch(%a: tensor<1x32x32xi32>, %b: tensor<1x16x8xi32>, %c: tensor<1x16x8xi32>, %row: index) -> tensor<1x16x8xi32> {
  %ea = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<1x32x32xi32>
  %a2 = linalg.copy ins(%a : tensor<1x32x32xi32>) outs(%ea : tensor<1x32x32xi32>) -> tensor<1x32x32xi32>
  %at = tensor.extract_slice %a2[0, %row, 0] [1, 16, 16] [1, 1, 1] : tensor<1x32x32xi32> to tensor<1x16x16xi32>
  %r = linalg.batch_matmul ins(%at, %b : tensor<1x16x16xi32>, tensor<1x16x8xi32>) outs(%c : tensor<1x16x8xi32>) -> tensor<1x16x8xi32>
  return %r : tensor<1x16x8xi32>
}

// A batch between the other dimensions, as a split sum has, is part of the tile.
// CHECK-LABEL: func.func @batch_between
// CHECK:         %[[P:.*]] = linalg.pack %{{.*}} inner_dims_pos = [0, 1, 2] inner_tiles = [16, 1, 16] into %{{.*}} : tensor<32x4x32xi32> -> tensor<2x4x2x16x1x16xi32>
// CHECK:         tensor.extract_slice %[[P]][%{{.*}}, %{{.*}}, 0, 0, 0, 0] [1, 1, 1, 16, 1, 16] [1, 1, 1, 1, 1, 1] : tensor<2x4x2x16x1x16xi32> to tensor<16x1x16xi32>
#lhs = affine_map<(b, m, n, k) -> (m, b, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#acc = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @batch_between(%a: tensor<32x4x32xi32>, %b: tensor<1x16x8xi32>, %c: tensor<1x16x8xi32>, %part: index, %row: index) -> tensor<1x16x8xi32> {
  %ea = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<32x4x32xi32>
  %a2 = linalg.copy ins(%a : tensor<32x4x32xi32>) outs(%ea : tensor<32x4x32xi32>) -> tensor<32x4x32xi32>
  %at = tensor.extract_slice %a2[%row, %part, 0] [16, 1, 16] [1, 1, 1] : tensor<32x4x32xi32> to tensor<16x1x16xi32>
  %r = linalg.contract indexing_maps = [#lhs, #rhs, #acc] ins(%at, %b : tensor<16x1x16xi32>, tensor<1x16x8xi32>) outs(%c : tensor<1x16x8xi32>) -> tensor<1x16x8xi32>
  return %r : tensor<1x16x8xi32>
}

// What isn't in L2 stays where it is.
// CHECK-LABEL: func.func @not_in_l2
// CHECK-NOT:     linalg.pack
// CHECK:         return
func.func @not_in_l2(%a: tensor<16x16xi32>, %b: tensor<16x8xi32>, %c: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<16x16xi32>, tensor<16x8xi32>) outs(%c : tensor<16x8xi32>) -> tensor<16x8xi32>
  return %r : tensor<16x8xi32>
}
