// Ops whose results are scalars get a parallel loop of one, and so do those around them that share what they read.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-widen-scalars --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-normalize-linalg --npuflow-assign-strategy=device=npu2 | filecheck %s --check-prefix=BUNDLES
// RUN: npuflow verify %s --pipeline=npuflow-stream-k | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong

// A softmax of a vector: four ops in one bundle.
// CHECK-LABEL:   func.func @softmax
// CHECK-SAME:      %[[X:.*]]: tensor<96xf32>
// CHECK:           %[[MAX:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
// CHECK-SAME:        ins(%[[X]] : tensor<96xf32>) outs(%{{.*}} : tensor<1xf32>)
// CHECK:           %[[EXP:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MAX]] : tensor<96xf32>, tensor<1xf32>) outs(%{{.*}} : tensor<1x96xf32>)
// CHECK:           %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXP]] : tensor<1x96xf32>) outs(%{{.*}} : tensor<1xf32>)
// CHECK:           %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[EXP]], %[[SUM]] : tensor<1x96xf32>, tensor<1xf32>) outs(%{{.*}} : tensor<1x96xf32>)
// CHECK:           %[[R:.*]] = tensor.collapse_shape %[[WIDE]] {{\[}}[0, 1]] : tensor<1x96xf32> into tensor<96xf32>
// CHECK:           return %[[R]]
// BUNDLES-LABEL: func.func @softmax
// BUNDLES-COUNT-4: npu.bundle = 0
func.func @softmax(%x: tensor<96xf32>) -> tensor<96xf32> {
  %e = tensor.empty() : tensor<96xf32>
  %r = linalg.softmax dimension(0) ins(%x : tensor<96xf32>) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  return %r : tensor<96xf32>
}

// All elements over their root mean square, behind a sum that two ops read: it joins them.
// CHECK-LABEL:   func.func @norm
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : tensor<1x5x7xf32>)
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction"]} ins(%{{.*}} : tensor<1x5x7xf32>) outs(%{{.*}} : tensor<1xf32>)
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}} : tensor<1xf32>) outs(%{{.*}} : tensor<1xf32>)
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x5x7xf32>, tensor<1xf32>) outs(%{{.*}} : tensor<1x5x7xf32>)
// BUNDLES-LABEL: func.func @norm
// BUNDLES-COUNT-4: npu.bundle = 1
#same = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>
func.func @norm(%x: tensor<5x7xf32>, %residual: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %s = tensor.empty() : tensor<f32>
  %y = arith.addf %x, %residual : tensor<5x7xf32>
  %start = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#same, #scalar], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<5x7xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %square = arith.mulf %in, %in : f32
    %more = arith.addf %out, %square : f32
    linalg.yield %more : f32
  } -> tensor<f32>
  %root = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%sum : tensor<f32>) outs(%s : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.constant 35.0 : f32
    %mean = arith.divf %in, %n : f32
    %one = math.rsqrt %mean : f32
    linalg.yield %one : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#same, #scalar, #same], iterator_types = ["parallel", "parallel"]} ins(%y, %root : tensor<5x7xf32>, tensor<f32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %scaled = arith.mulf %in, %by : f32
    linalg.yield %scaled : f32
  } -> tensor<5x7xf32>
  return %r : tensor<5x7xf32>
}

// Another tensor than what was summed is scaled: nothing is shared, so it stays free to be spread over the array.
// CHECK-LABEL:   func.func @apart
// CHECK:           %[[S:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1xf32>)
// CHECK:           linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
// CHECK-SAME:        ins(%{{.*}}, %[[S]] : tensor<512xf32>, tensor<1xf32>) outs(%{{.*}} : tensor<512xf32>)
// BUNDLES-LABEL: func.func @apart
// BUNDLES:         npu.bundle = 2
// BUNDLES:         npu.bundle = 3
func.func @apart(%x: tensor<64xf32>, %y: tensor<512xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<512xf32>
  %start = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<64xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %more = arith.addf %out, %in : f32
    linalg.yield %more : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%y, %sum : tensor<512xf32>, tensor<f32>) outs(%e : tensor<512xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %scaled = arith.mulf %in, %by : f32
    linalg.yield %scaled : f32
  } -> tensor<512xf32>
  return %r : tensor<512xf32>
}

// A scalar that goes on from an argument, and is returned.
// CHECK-LABEL:   func.func @goes_on
// CHECK:           %[[W:.*]] = tensor.expand_shape %{{.*}} [] output_shape [1] : tensor<i32> into tensor<1xi32>
// CHECK:           %[[R:.*]] = linalg.generic {{.*}} outs(%[[W]] : tensor<1xi32>)
// CHECK:           tensor.collapse_shape %[[R]] [] : tensor<1xi32> into tensor<i32>
func.func @goes_on(%x: tensor<33xi32>, %sofar: tensor<i32>) -> tensor<i32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<33xi32>) outs(%sofar : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %more = arith.addi %out, %in : i32
    linalg.yield %more : i32
  } -> tensor<i32>
  return %sum : tensor<i32>
}

// Nothing to do.
// CHECK-LABEL:   func.func @rows
// CHECK-NOT:       tensor.collapse_shape
func.func @rows(%x: tensor<8x96xf32>) -> tensor<8x96xf32> {
  %e = tensor.empty() : tensor<8x96xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<8x96xf32>) outs(%e : tensor<8x96xf32>) -> tensor<8x96xf32>
  return %r : tensor<8x96xf32>
}
