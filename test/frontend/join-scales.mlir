// What both factors of a sum of products are scaled by, the smaller one is.
// RUN: npuflow-opt %s --npuflow-join-scales --mlir-print-local-scope | filecheck %s

#same = affine_map<(i, j) -> (i, j)>

// Keys are read as they are, transposed; queries are scaled twice.
// CHECK-LABEL: func.func @scores
// CHECK-SAME:    (%[[Q:.*]]: tensor<4x16xf32>, %[[K:.*]]: tensor<64x16xf32>)
// CHECK-DAG:     %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK:         %[[ONCE:.*]] = linalg.generic {{.*}} ins(%[[Q]] :
// CHECK:           arith.mulf %{{.*}}, %[[C]]
// CHECK:         %[[TWICE:.*]] = linalg.generic {{.*}} ins(%[[ONCE]] :
// CHECK:           %[[E:.*]] = arith.truncf %{{.*}} : f64
// CHECK:           arith.mulf %[[E]], %
// CHECK:         %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, {{.*}} ins(%[[K]] :
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.matmul ins(%[[TWICE]], %[[T]] :
func.func @scores(%q: tensor<4x16xf32>, %k: tensor<64x16xf32>) -> tensor<4x64xf32> {
  %z = arith.constant 0.0 : f32
  %c = arith.constant 0.5 : f32
  %d = arith.constant 0.25 : f64
  %eq = tensor.empty() : tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<4x16xf32>) outs(%eq : tensor<4x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.mulf %x, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  %ek = tensor.empty() : tensor<64x16xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%k : tensor<64x16xf32>) outs(%ek : tensor<64x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = arith.truncf %d : f64 to f32
    %s = arith.mulf %n, %x : f32
    linalg.yield %s : f32
  } -> tensor<64x16xf32>
  %et = tensor.empty() : tensor<16x64xf32>
  %t = linalg.transpose ins(%b : tensor<64x16xf32>) outs(%et : tensor<16x64xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<4x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x64xf32>) -> tensor<4x64xf32>
  %r = linalg.matmul ins(%a, %t : tensor<4x16xf32>, tensor<16x64xf32>) outs(%f : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// A square is no scale, and one scale alone stays where it is.
// CHECK-LABEL: func.func @others
// CHECK:         %[[A:.*]] = linalg.generic
// CHECK:         %[[B:.*]] = linalg.generic
// CHECK:         linalg.matmul ins(%[[A]], %[[B]] :
func.func @others(%q: tensor<4x16xf32>, %k: tensor<16x64xf32>) -> tensor<4x64xf32> {
  %z = arith.constant 0.0 : f32
  %c = arith.constant 0.5 : f32
  %eq = tensor.empty() : tensor<4x16xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<4x16xf32>) outs(%eq : tensor<4x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.mulf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  %ek = tensor.empty() : tensor<16x64xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%k : tensor<16x64xf32>) outs(%ek : tensor<16x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.mulf %x, %c : f32
    linalg.yield %s : f32
  } -> tensor<16x64xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x64xf32>) -> tensor<4x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x16xf32>, tensor<16x64xf32>) outs(%f : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// Scores that are divided, in another shape, are of queries that are, of which there are fewer than of keys.
// CHECK-LABEL: func.func @divided
// CHECK-SAME:    (%[[Q:.*]]: tensor<4x16xf32>, %[[K:.*]]: tensor<16x64xf32>)
// CHECK:         %[[D:.*]] = linalg.generic {{.*}} ins(%[[Q]] :
// CHECK:           arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:         %[[R:.*]] = linalg.matmul ins(%[[D]], %[[K]] :
// CHECK-NEXT:    %[[V:.*]] = tensor.expand_shape %[[R]]
// CHECK-NEXT:    return %[[V]]
func.func @divided(%q: tensor<4x16xf32>, %k: tensor<16x64xf32>) -> tensor<2x2x64xf32> {
  %z = arith.constant 0.0 : f32
  %c = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x64xf32>) -> tensor<4x64xf32>
  %r = linalg.matmul ins(%q, %k : tensor<4x16xf32>, tensor<16x64xf32>) outs(%f : tensor<4x64xf32>) -> tensor<4x64xf32>
  %v = tensor.expand_shape %r [[0, 1], [2]] output_shape [2, 2, 64] : tensor<4x64xf32> into tensor<2x2x64xf32>
  %g = tensor.empty() : tensor<2x2x64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x2x64xf32>) outs(%g : tensor<2x2x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %d = arith.divf %x, %c : f32
    linalg.yield %d : f32
  } -> tensor<2x2x64xf32>
  return %s : tensor<2x2x64xf32>
}

// Where a sum begins at something else, where a factor is a weight, or where there are more factors than sums, what is
// scaled is the sum; and what divides a constant is no scale.
// CHECK-LABEL: func.func @behind
// CHECK-COUNT-4: linalg.matmul ins(%arg0, %
// CHECK-NOT:     linalg.generic {{.*}} ins(%arg
// CHECK:         return
func.func @behind(%q: tensor<4x16xf32>, %k: tensor<16x64xf32>, %p: tensor<4x64xf32>, %o: tensor<16x2xf32>)
    -> (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x2xf32>, tensor<4x64xf32>) {
  %z = arith.constant 0.0 : f32
  %c = arith.constant 3.0 : f32
  %w = arith.constant dense<2.0> : tensor<16x64xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %e2 = tensor.empty() : tensor<4x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x64xf32>) -> tensor<4x64xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r1 = linalg.matmul ins(%q, %k : tensor<4x16xf32>, tensor<16x64xf32>) outs(%p : tensor<4x64xf32>) -> tensor<4x64xf32>
  %r2 = linalg.matmul ins(%q, %w : tensor<4x16xf32>, tensor<16x64xf32>) outs(%f : tensor<4x64xf32>) -> tensor<4x64xf32>
  %r3 = linalg.matmul ins(%q, %o : tensor<4x16xf32>, tensor<16x2xf32>) outs(%f2 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r4 = linalg.matmul ins(%q, %k : tensor<4x16xf32>, tensor<16x64xf32>) outs(%f : tensor<4x64xf32>) -> tensor<4x64xf32>
  %s1 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%r1 : tensor<4x64xf32>) outs(%e : tensor<4x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.mulf %x, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %s2 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%r2 : tensor<4x64xf32>) outs(%e : tensor<4x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.mulf %x, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %s3 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%r3 : tensor<4x2xf32>) outs(%e2 : tensor<4x2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.mulf %x, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  %s4 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%r4 : tensor<4x64xf32>) outs(%e : tensor<4x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.divf %c, %x : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  return %s1, %s2, %s3, %s4 : tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x2xf32>, tensor<4x64xf32>
}
