// K in time: a loop over pieces of K that carries the sum.
// RUN: npuflow-opt %s --npuflow-tile-k=tile=32 --canonicalize | filecheck %s

// CHECK-LABEL: func.func @stream
// CHECK-SAME:    %[[A:.*]]: tensor<16x96xi32>, %[[B:.*]]: tensor<8x96xi32>, %[[C:.*]]: tensor<16x8xi32>
// CHECK:         %[[SUM:.*]] = scf.for %[[K:.*]] = %c0{{.*}} to %c96{{.*}} step %c32{{.*}} iter_args(%[[ACC:.*]] = %[[C]])
// CHECK-DAG:       %[[AK:.*]] = tensor.extract_slice %[[A]][0, %[[K]]] [16, 32] [1, 1]
// CHECK-DAG:       %[[BK:.*]] = tensor.extract_slice %[[B]][0, %[[K]]] [8, 32] [1, 1]
// CHECK:           %[[R:.*]] = linalg.matmul {{.*}} ins(%[[AK]], %[[BK]] : {{.*}}) outs(%[[ACC]] :
// CHECK:           scf.yield %[[R]]
// CHECK:         return %[[SUM]]
func.func @stream(%a: tensor<16x96xi32>, %b: tensor<8x96xi32>, %c: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %r = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<16x96xi32>, tensor<8x96xi32>) outs(%c : tensor<16x8xi32>) -> tensor<16x8xi32>
  return %r : tensor<16x8xi32>
}

// Fill and tail stay outside.
// CHECK-LABEL: func.func @group
// CHECK:         %[[F:.*]] = linalg.fill
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[F]])
// CHECK-NOT:       linalg.fill
// CHECK:           linalg.batch_matmul
// CHECK:           scf.yield
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]] :
func.func @group(%a: tensor<1x16x96xf32>, %b: tensor<1x96x8xf32>, %e: tensor<1x16x8xf32>) -> tensor<1x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<1x16x96xf32>, tensor<1x96x8xf32>) outs(%f : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r : tensor<1x16x8xf32>) outs(%e : tensor<1x16x8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %y = arith.maximumf %x, %zero : f32
    linalg.yield %y : f32
  } -> tensor<1x16x8xf32>
  return %t : tensor<1x16x8xf32>
}

// A single step is no loop.
// CHECK-LABEL: func.func @one_step
// CHECK-NOT:     scf.for
// CHECK:         linalg.matmul ins(%{{.*}} : tensor<16x32xi32>, tensor<32x8xi32>)
func.func @one_step(%a: tensor<16x32xi32>, %b: tensor<32x8xi32>, %c: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi32>, tensor<32x8xi32>) outs(%c : tensor<16x8xi32>) -> tensor<16x8xi32>
  return %r : tensor<16x8xi32>
}

// What is left over at the end is a piece of its own.
// CHECK-LABEL: func.func @left_over
// CHECK:         %[[SUM:.*]] = scf.for %{{.*}} to %c64{{.*}} step %c32
// CHECK:         %[[LAST:.*]] = tensor.extract_slice %{{.*}}[0, 64] [16, 6] [1, 1]
// CHECK:         linalg.matmul ins(%[[LAST]], %{{.*}} : tensor<16x6xi32>, tensor<6x8xi32>) outs(%[[SUM]] :
func.func @left_over(%a: tensor<16x70xi32>, %b: tensor<70x8xi32>, %c: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<16x70xi32>, tensor<70x8xi32>) outs(%c : tensor<16x8xi32>) -> tensor<16x8xi32>
  return %r : tensor<16x8xi32>
}
