// One tile of a block per core: a grid of cores, rows along m and columns along n.
// RUN: npuflow-opt %s --npuflow-tile-cores=tile=16,32 --canonicalize --cse | filecheck %s

// CHECK-LABEL: func.func @grid
// CHECK-SAME:    %[[A:.*]]: tensor<32x96xi32>, %[[B:.*]]: tensor<96x128xi32>
// CHECK-NOT:     linalg.fill
// CHECK:         scf.forall (%[[Y:.*]], %[[X:.*]]) in (2, 4) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<32x128xi32>) {
// CHECK-DAG:       %[[ROW:.*]] = affine.apply #{{.*}}(%[[Y]])
// CHECK-DAG:       %[[COLUMN:.*]] = affine.apply #{{.*}}(%[[X]])
// CHECK-DAG:       %[[A_ROWS:.*]] = tensor.extract_slice %[[A]][%[[ROW]], 0] [16, 96] [1, 1]
// CHECK-DAG:       %[[B_COLUMNS:.*]] = tensor.extract_slice %[[B]][0, %[[COLUMN]]] [96, 32] [1, 1]
// CHECK-DAG:       %[[F:.*]] = linalg.fill {{.*}} -> tensor<16x32xi32>
// CHECK:           %[[R:.*]] = linalg.matmul ins(%[[A_ROWS]], %[[B_COLUMNS]] : {{.*}}) outs(%[[F]] :
// CHECK:           tensor.parallel_insert_slice %[[R]] into %[[OUT]][%[[ROW]], %[[COLUMN]]] [16, 32] [1, 1]
// CHECK:         } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
func.func @grid(%a: tensor<32x96xi32>, %b: tensor<96x128xi32>) -> tensor<32x128xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<32x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<32x128xi32>) -> tensor<32x128xi32>
  %r = linalg.matmul ins(%a, %b : tensor<32x96xi32>, tensor<96x128xi32>) outs(%f : tensor<32x128xi32>) -> tensor<32x128xi32>
  return %r : tensor<32x128xi32>
}

// Each core reads its part of a given sum, and its part of what the tail reads.
// CHECK-LABEL: func.func @tail
// CHECK-SAME:    %[[C:[^:]*]]: tensor<32x64xi32>, %[[BIAS:[^:]*]]: tensor<32x1xi32>
// CHECK:         scf.forall (%[[Y:.*]], %{{.*}}) in (2, 2)
// CHECK:           %[[ROW:.*]] = affine.apply #{{.*}}(%[[Y]])
// CHECK-DAG:       %[[SUM:.*]] = tensor.extract_slice %[[C]][%[[ROW]], %{{.*}}] [16, 32] [1, 1]
// CHECK-DAG:       %[[R:.*]] = linalg.matmul {{.*}} outs(%[[SUM]] :
// CHECK-DAG:       %[[B:.*]] = tensor.extract_slice %[[BIAS]][%[[ROW]], 0] [16, 1] [1, 1]
// CHECK:           %[[T:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[B]] :
// CHECK:           tensor.parallel_insert_slice %[[T]]
func.func @tail(%c: tensor<32x64xi32>, %bias: tensor<32x1xi32>, %a: tensor<32x96xi32>, %b: tensor<96x64xi32>) -> tensor<32x64xi8> {
  %e = tensor.empty() : tensor<32x64xi8>
  %r = linalg.matmul ins(%a, %b : tensor<32x96xi32>, tensor<96x64xi32>) outs(%c : tensor<32x64xi32>) -> tensor<32x64xi32>
  %t = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, 0)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<32x64xi32>, tensor<32x1xi32>) outs(%e : tensor<32x64xi8>) {
  ^bb0(%x: i32, %y: i32, %out: i8):
    %s = arith.addi %x, %y : i32
    %o = arith.trunci %s : i32 to i8
    linalg.yield %o : i8
  } -> tensor<32x64xi8>
  return %t : tensor<32x64xi8>
}

// Batch loops, of size one within a block, aren't spread; 1xN grids have two coordinates all the same.
// CHECK-LABEL: func.func @batch_on_one_row
// CHECK:         scf.forall (%{{.*}}, %{{.*}}) in (1, 2)
// CHECK:           linalg.batch_matmul {{.*}} -> tensor<1x16x32xi32>
// CHECK:         {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
func.func @batch_on_one_row(%a: tensor<1x16x96xi32>, %b: tensor<1x96x64xi32>, %c: tensor<1x16x64xi32>) -> tensor<1x16x64xi32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<1x16x96xi32>, tensor<1x96x64xi32>) outs(%c : tensor<1x16x64xi32>) -> tensor<1x16x64xi32>
  return %r : tensor<1x16x64xi32>
}

// CHECK-LABEL: func.func @no_matmul
// CHECK-NEXT:    return
func.func @no_matmul(%a: tensor<8xi32>) -> tensor<8xi32> {
  return %a : tensor<8xi32>
}
