// Blocks are padded to multiples of a tile, and what was computed on padding is cut off.
// RUN: npuflow-opt %s --npuflow-pad-blocks=tile=16,32,64 --canonicalize --cse | filecheck %s

// A block at the edge, as npuflow-tile-blocks leaves it: what is padded to its rows already is padded in K as well.
// CHECK-LABEL: func.func @edge
// CHECK-SAME:    %[[SM:.*]]: index, %[[A:.*]]: tensor<50x100xi8>, %[[B:.*]]: tensor<100x32xi8>
// CHECK-DAG:     %[[F:.*]] = linalg.fill {{.*}} -> tensor<16x32xi32>
// CHECK-DAG:     %[[AB:.*]] = tensor.extract_slice %[[A]][0, 0] [%[[SM]], 100] [1, 1]
// CHECK-DAG:     %[[AK:.*]] = tensor.pad %[[AB]] low[0, 0] high[%{{.*}}, 28] {
// CHECK-DAG:     %[[BK:.*]] = tensor.pad %[[B]] low[0, 0] high[28, 0] {
// CHECK:         %[[R:.*]] = linalg.matmul {keep} ins(%[[AK]], %[[BK]] : tensor<16x128xi8>, tensor<128x32xi8>) outs(%[[F]] : tensor<16x32xi32>)
// CHECK-NEXT:    return %[[R]]
func.func @edge(%sm: index, %a: tensor<50x100xi8>, %b: tensor<100x32xi8>) -> tensor<16x32xi32> {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i8
  %c16 = arith.constant 16 : index
  %missing = arith.subi %c16, %sm : index
  %ab = tensor.extract_slice %a[0, 0] [%sm, 100] [1, 1] : tensor<50x100xi8> to tensor<?x100xi8>
  %ap = tensor.pad %ab low[0, 0] high[%missing, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %none : i8
  } : tensor<?x100xi8> to tensor<16x100xi8>
  %e = tensor.empty() : tensor<16x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<16x32xi32>) -> tensor<16x32xi32>
  %r = linalg.matmul {keep} ins(%ap, %b : tensor<16x100xi8>, tensor<100x32xi8>) outs(%f : tensor<16x32xi32>) -> tensor<16x32xi32>
  return %r : tensor<16x32xi32>
}

// Static sizes that don't divide, a transposed B, a batch loop, and a given sum; one pads K, none pads the batch.
// CHECK-LABEL: func.func @static
// CHECK-DAG:     tensor.pad %{{.*}} low[0, 0, 0] high[0, 15, 63] {
// CHECK-DAG:     tensor.pad %{{.*}} low[0, 0, 0] high[0, 31, 63] {
// CHECK-DAG:     tensor.pad %{{.*}} low[0, 0, 0] high[0, 15, 31] {
// CHECK:         linalg.batch_matmul {{.*}} ins(%{{.*}} : tensor<1x16x64xf32>, tensor<1x32x64xf32>) outs(%{{.*}} : tensor<1x16x32xf32>)
// CHECK:         tensor.extract_slice %{{.*}}[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<1x16x32xf32> to tensor<1x1x1xf32>
func.func @static(%a: tensor<1x1x1xf32>, %b: tensor<1x1x1xf32>, %c: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> {
  %r = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%a, %b : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%c : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  return %r : tensor<1x1x1xf32>
}

// The tail works on the padded sum: what it reads is padded too, but neither scalars nor a
// constant dimension, and only its result is cut.
// CHECK-LABEL: func.func @tail
// CHECK-SAME:    %[[BIAS:[^:]*]]: tensor<1x30xf32>, %[[SCALE:[^:]*]]: tensor<f32>
// CHECK-DAG:     %[[R:.*]] = linalg.matmul {{.*}} -> tensor<16x32xf32>
// CHECK-DAG:     %[[BP:.*]] = tensor.pad %[[BIAS]] low[0, 0] high[0, 2] {
// CHECK-NOT:     tensor.extract_slice
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[BP]], %[[SCALE]] : tensor<16x32xf32>, tensor<1x32xf32>, tensor<f32>)
// CHECK:         tensor.extract_slice %[[T]][0, 0] [16, 30] [1, 1]
func.func @tail(%bias: tensor<1x30xf32>, %scale: tensor<f32>, %a: tensor<16x64xf32>, %b: tensor<64x30xf32>) -> tensor<16x30xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x30xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x30xf32>) -> tensor<16x30xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16x64xf32>, tensor<64x30xf32>) outs(%f : tensor<16x30xf32>) -> tensor<16x30xf32>
  %t = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (0, n)>, affine_map<(m, n) -> ()>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias, %scale : tensor<16x30xf32>, tensor<1x30xf32>, tensor<f32>) outs(%e : tensor<16x30xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32, %out: f32):
    %p = arith.mulf %x, %s : f32
    %q = arith.addf %p, %y : f32
    linalg.yield %q : f32
  } -> tensor<16x30xf32>
  return %t : tensor<16x30xf32>
}

// CHECK-LABEL: func.func @divides
// CHECK-NEXT:    linalg.matmul ins(
// CHECK-NEXT:    return
func.func @divides(%a: tensor<32x64xi32>, %b: tensor<64x32xi32>, %c: tensor<32x32xi32>) -> tensor<32x32xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<32x64xi32>, tensor<64x32xi32>) outs(%c : tensor<32x32xi32>) -> tensor<32x32xi32>
  return %r : tensor<32x32xi32>
}
