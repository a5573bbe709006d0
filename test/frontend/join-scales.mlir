// What both factors of a sum of products are scaled by, the smaller one is.
// RUN: npuflow-opt %s --npuflow-join-scales --mlir-print-local-scope | filecheck %s

#same = affine_map<(i, j) -> (i, j)>

// Keys are read as they are, transposed; queries are scaled twice.
// CHECK-LABEL: func.func @scores
// CHECK-SAME:    (%[[Q:.*]]: tensor<4x16xf32>, %[[K:.*]]: tensor<64x16xf32>)
// CHECK-DAG:     %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG:     %[[D:.*]] = arith.constant 2.500000e-01 : f64
// CHECK:         %[[ONCE:.*]] = linalg.generic {{.*}} ins(%[[Q]] :
// CHECK:           arith.mulf %{{.*}}, %[[C]]
// CHECK:         %[[TWICE:.*]] = linalg.generic {{.*}} ins(%[[ONCE]] :
// CHECK:           %[[E:.*]] = arith.truncf %[[D]]
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
