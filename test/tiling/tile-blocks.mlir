// A loop nest over blocks of the output, one after the other, with fill and tail inside.
// RUN: npuflow-opt %s --npuflow-tile-blocks=tile=16,32 --canonicalize --cse | filecheck %s

// CHECK-LABEL: func.func @fill
// CHECK-SAME:    %[[A:.*]]: tensor<64x96xi32>, %[[B:.*]]: tensor<96x64xi32>
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-NOT:     linalg.fill
// CHECK:         scf.for %[[M:.*]] = %[[C0]] to %[[C64]] step %[[C16]]
// CHECK-NEXT:      scf.for %[[N:.*]] = %[[C0]] to %[[C64]] step %[[C32]] iter_args(%[[OUT:.*]] = %{{.*}})
// CHECK-DAG:         %[[ROWS:.*]] = tensor.extract_slice %[[A]][%[[M]], 0] [16, 96] [1, 1]
// CHECK-DAG:         %[[COLUMNS:.*]] = tensor.extract_slice %[[B]][0, %[[N]]] [96, 32] [1, 1]
// CHECK-DAG:         %[[E:.*]] = tensor.empty() : tensor<16x32xi32>
// CHECK:             %[[F:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E]]
// CHECK:             %[[R:.*]] = linalg.matmul {keep} ins(%[[ROWS]], %[[COLUMNS]] : {{.*}}) outs(%[[F]]
// CHECK:             tensor.insert_slice %[[R]] into %[[OUT]][%[[M]], %[[N]]] [16, 32] [1, 1]
// CHECK-NOT:     linalg.fill
func.func @fill(%a: tensor<64x96xi32>, %b: tensor<96x64xi32>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %r = linalg.matmul {keep} ins(%a, %b : tensor<64x96xi32>, tensor<96x64xi32>) outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}

// A sum that continues a given one reads it from there; the loops only write the result.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    %[[C:.*]]: tensor<64x64xi32>, %{{.*}}: tensor<64x96xi32>
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<64x64xi32>
// CHECK:         scf.for %{{.*}} iter_args(%{{.*}} = %[[EMPTY]])
// CHECK:           %[[GIVEN:.*]] = tensor.extract_slice %[[C]][
// CHECK:           linalg.matmul {{.*}} outs(%[[GIVEN]]
func.func @accumulate(%c: tensor<64x64xi32>, %a: tensor<64x96xi32>, %b: tensor<96x64xi32>) -> tensor<64x64xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x96xi32>, tensor<96x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}

// The tail goes along: operands of each shape are sliced by the dimensions they have.
// CHECK-LABEL: func.func @tail
// CHECK-SAME:    %[[BIAS:[^:]*]]: tensor<64xf32>, %[[SCALE:[^:]*]]: tensor<f32>, %[[RESIDUAL:[^:]*]]: tensor<64x64xf32>
// CHECK:         scf.for %[[M:.*]] = %c0 to
// CHECK:           scf.for %[[N:.*]] = %c0 to
// CHECK-DAG:         %[[BN:.*]] = tensor.extract_slice %[[BIAS]][%[[N]]] [32] [1]
// CHECK-DAG:         %[[RMN:.*]] = tensor.extract_slice %[[RESIDUAL]][%[[M]], %[[N]]] [16, 32] [1, 1]
// CHECK-DAG:         %[[EMPTY:.*]] = tensor.empty() : tensor<16x32xf32>
// CHECK:             %[[R:.*]] = linalg.matmul indexing_maps
// CHECK:             %[[T:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[BN]], %[[SCALE]], %[[RMN]] : {{.*}}) outs(%[[EMPTY]] :
// CHECK:             tensor.insert_slice %[[T]]
func.func @tail(%bias: tensor<64xf32>, %scale: tensor<f32>, %residual: tensor<64x64xf32>, %a: tensor<96x64xf32>, %b: tensor<64x96xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<96x64xf32>, tensor<64x96xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> ()>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias, %scale, %residual : tensor<64x64xf32>, tensor<64xf32>, tensor<f32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32, %z: f32, %out: f32):
    %p = arith.mulf %x, %s : f32
    %q = arith.addf %p, %y : f32
    %o = arith.addf %q, %z : f32
    linalg.yield %o : f32
  } -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}

// Batch loops go one by one; boundary blocks are padded and cut; a transposed B is sliced along its first dimension.
// CHECK-LABEL: func.func @batch_and_boundary
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %c3 step %c1
// CHECK:           scf.for %[[M:.*]] = %{{.*}} to %c50 step %c16
// CHECK:             scf.for %[[N:.*]] = %{{.*}} to %c33 step %c32
// CHECK-DAG:           %[[SM:.*]] = affine.min #{{.*}}(%[[M]])
// CHECK-DAG:           %[[SN:.*]] = affine.min #{{.*}}(%[[N]])
// CHECK-DAG:           tensor.extract_slice %{{.*}}[%[[I]], %[[M]], 0] [1, %[[SM]], 96] [1, 1, 1]
// CHECK-DAG:           tensor.extract_slice %{{.*}}[%[[I]], %[[N]], 0] [1, %[[SN]], 96] [1, 1, 1]
// CHECK-DAG:           tensor.pad %{{.*}} low[0, 0, 0] high[0, %{{.*}}, 0]
// CHECK:               %[[R:.*]] = linalg.batch_matmul {{.*}} -> tensor<1x16x32xi32>
// CHECK:               tensor.extract_slice %[[R]][0, 0, 0] [1, %[[SM]], %[[SN]]] [1, 1, 1]
func.func @batch_and_boundary(%a: tensor<3x50x96xi8>, %b: tensor<3x33x96xi8>, %c: tensor<3x50x33xi32>) -> tensor<3x50x33xi32> {
  %r = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%a, %b : tensor<3x50x96xi8>, tensor<3x33x96xi8>) outs(%c : tensor<3x50x33xi32>) -> tensor<3x50x33xi32>
  return %r : tensor<3x50x33xi32>
}

// One block is no loop, and has the whole tile's shape as any other.
// CHECK-LABEL: func.func @one_block
// CHECK-NOT:     scf.for
// CHECK:         linalg.matmul ins(%{{.*}} : tensor<16x96xi32>, tensor<96x32xi32>)
func.func @one_block(%a: tensor<1x96xi32>, %b: tensor<96x32xi32>, %c: tensor<1x32xi32>) -> tensor<1x32xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<1x96xi32>, tensor<96x32xi32>) outs(%c : tensor<1x32xi32>) -> tensor<1x32xi32>
  return %r : tensor<1x32xi32>
}

// CHECK-LABEL: func.func @no_matmul
// CHECK-NEXT:    return
func.func @no_matmul(%a: tensor<8xi32>) -> tensor<8xi32> {
  return %a : tensor<8xi32>
}
