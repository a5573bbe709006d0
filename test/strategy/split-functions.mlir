// A function of several groups of ops becomes a function per group, and calls of those.
// RUN: npuflow-opt %s --npuflow-split-functions=device=toy | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A matmul, and a bundle of two ops. What the user says about a matmul stays with it.
// CHECK-LABEL: func.func @two(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<16x32xf32>, %[[B:[a-z0-9]+]]: tensor<32x16xf32>)
// CHECK-NEXT:    %[[M:[a-z0-9]+]] = call @two_0(%[[A]], %[[B]]) : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:    %[[D:[a-z0-9]+]] = call @two_1(%[[M]]) : (tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT:    return %[[M]], %[[D]]
// CHECK-LABEL: func.func private @two_0(
// CHECK-NOT:     linalg.generic
// CHECK:         linalg.fill
// CHECK:         linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 2]}>}
// CHECK-NOT:     linalg.generic
// CHECK-LABEL: func.func private @two_1(
// CHECK:         linalg.fill
// CHECK:         linalg.generic {{.*}}"reduction"
// CHECK:         linalg.generic {{.*}}"parallel", "parallel"
// CHECK-NEXT:    ^bb0(
// CHECK-NEXT:      arith.divf
func.func @two(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 2]}>}
      ins(%a, %b : tensor<16x32xf32>, tensor<32x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%m : tensor<16x16xf32>) outs(%f1 : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %s : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.divf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %m, %d : tensor<16x16xf32>, tensor<16x16xf32>
}

// Reshapes go with what reads them; one that is returned comes from the part whose result it reshapes. Names that are
// taken are left alone, and an argument that is returned comes from no part.
// CHECK-LABEL: func.func @views(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x4x16xf32>, %[[W:[a-z0-9]+]]: tensor<16x16xf32>)
// CHECK-NEXT:    %[[R:[a-z0-9]+]]:2 = call @views__0(%[[X]], %[[W]])
// CHECK-NEXT:    %[[N:[a-z0-9]+]] = call @views__1(%[[R]]#0, %[[W]])
// CHECK-NEXT:    return %[[N]], %[[R]]#1, %[[W]]
// CHECK-LABEL: func.func private @views__0(
// CHECK-SAME:    -> (tensor<16x16xf32>, tensor<4x4x16xf32>)
// CHECK:         tensor.collapse_shape
// CHECK:         linalg.matmul
// CHECK:         tensor.expand_shape
// CHECK-LABEL: func.func private @views__1(
// CHECK-SAME:    %{{.*}}: tensor<16x16xf32>, %{{.*}}: tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NOT:     tensor.expand_shape
func.func @views(%x: tensor<4x4x16xf32>, %w: tensor<16x16xf32>)
    -> (tensor<16x16xf32>, tensor<4x4x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<4x4x16xf32> into tensor<16x16xf32>
  %m = linalg.matmul ins(%c, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [4, 4, 16] : tensor<16x16xf32> into tensor<4x4x16xf32>
  %n = linalg.matmul ins(%m, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %n, %r, %w : tensor<16x16xf32>, tensor<4x4x16xf32>, tensor<16x16xf32>
}

// A matmul with the elementwise op behind it is one group: nothing to be split.
// CHECK-LABEL: func.func @views_0(
// CHECK-NEXT:    arith.constant
// CHECK:         linalg.matmul
// CHECK:         linalg.generic
// CHECK-NOT:   func.func
func.func @views_0(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.negf %x : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

// x W + h U: the sum is the tail of the first matmul, and runs behind the other.
// CHECK-LABEL: func.func @sum_of_matmuls(
// CHECK-NEXT:    %[[H:[a-z0-9]+]] = call @sum_of_matmuls_0(
// CHECK-NEXT:    %[[S:[a-z0-9]+]] = call @sum_of_matmuls_1({{.*}}%[[H]]{{.*}})
// CHECK-NEXT:    return %[[S]]
// CHECK-LABEL: func.func private @sum_of_matmuls_0(
// CHECK-NOT:     linalg.generic
// CHECK-LABEL: func.func private @sum_of_matmuls_1(
// CHECK:         linalg.matmul
// CHECK-NEXT:    linalg.generic
func.func @sum_of_matmuls(%x: tensor<4x16xf32>, %h: tensor<4x16xf32>, %w: tensor<16x16xf32>, %u: tensor<16x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.matmul ins(%h, %u : tensor<4x16xf32>, tensor<16x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<4x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4x16xf32>
  return %s : tensor<4x16xf32>
}

// Constants of many values are handed over, those of one are copied: matmuls that differ in weights alone are one part.
// CHECK-LABEL: func.func @weights(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x2xf32>)
// CHECK-DAG:     %[[W:[a-z0-9_]+]] = arith.constant dense<{{.*}}1.000000e+00, 2.000000e+00
// CHECK-DAG:     %[[U:[a-z0-9_]+]] = arith.constant dense<{{.*}}5.000000e+00, 6.000000e+00
// CHECK-NOT:     dense<1.000000e+00>
// CHECK:         %[[Y:[a-z0-9]+]] = call @weights_0(%[[X]], %[[W]])
// CHECK-NEXT:    %[[Z:[a-z0-9]+]] = call @weights_0(%[[Y]], %[[U]])
// CHECK-NEXT:    return %[[Z]], %[[U]]
// CHECK-LABEL: func.func private @weights_0(
// CHECK:         arith.constant dense<1.000000e+00>
// CHECK-NOT:   func.func
func.func @weights(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %ones = arith.constant dense<1.0> : tensor<2x2xf32>
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %u = arith.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%ones : tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = linalg.matmul ins(%y, %u : tensor<2x2xf32>, tensor<2x2xf32>) outs(%ones : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %z, %u : tensor<2x2xf32>, tensor<2x2xf32>
}

// What two groups write halves of goes from one to the other, which may write into it. What a part is made of, its call says.
// CHECK-LABEL: func.func @halves(
// CHECK-NEXT:    %[[FIRST:[a-z0-9]+]] = call @halves_0(%arg0) : (tensor<16x32xf32>) -> tensor<16x32xf32>
// CHECK-NEXT:    %[[BOTH:[a-z0-9]+]] = call @halves_1(%arg0, %[[FIRST]]) {npu.made_of = ["halves_1", "halves_2"]} : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
// CHECK-NEXT:    return %[[BOTH]]
// CHECK-LABEL: func.func private @halves_0(
// CHECK:         math.exp
// CHECK:         tensor.insert_slice
// CHECK-LABEL: func.func private @halves_1(
// CHECK-SAME:    %arg0: tensor<16x32xf32>, %[[INTO:[a-z0-9]+]]: tensor<16x32xf32> {bufferization.writable = true})
// CHECK-NOT:     npu.made_of
// CHECK:         math.sqrt
// CHECK:         %[[MADE:.*]] = tensor.insert_slice %{{.*}} into %[[INTO]][8, 0] [8, 32] [1, 1]
// CHECK-NEXT:    return %[[MADE]]
func.func @halves(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %e = tensor.empty() : tensor<16x32xf32>
  %o = tensor.empty() : tensor<8x32xf32>
  %x0 = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<16x32xf32> to tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x0 : tensor<8x32xf32>) outs(%o : tensor<8x32xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%v: f32, %out: f32):
    %r = math.exp %v : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  %first = tensor.insert_slice %a into %e[0, 0] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<16x32xf32>
  %x1 = tensor.extract_slice %x[8, 0] [8, 32] [1, 1] : tensor<16x32xf32> to tensor<8x32xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x1 : tensor<8x32xf32>) outs(%o : tensor<8x32xf32>) attrs = {npu.bundle = 1, npu.made_of = ["halves_1", "halves_2"]} {
  ^bb0(%v: f32, %out: f32):
    %r = math.sqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  %both = tensor.insert_slice %b into %first[8, 0] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<16x32xf32>
  return %both : tensor<16x32xf32>
}

// What ends a bundle, as the division behind an attention's sums, stays there: the matmul that reads it is another group.
// CHECK-LABEL: func.func @behind_a_bundle(
// CHECK-NEXT:    %[[S:[a-z0-9]+]] = call @behind_a_bundle_0(
// CHECK-NEXT:    %[[M:[a-z0-9]+]] = call @behind_a_bundle_1(%[[S]]
// CHECK-NEXT:    return %[[M]]
func.func @behind_a_bundle(%x: tensor<16x32xf32>, %w: tensor<32x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<16x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x32xf32>) outs(%o : tensor<16x32xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%v: f32, %out: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %m = linalg.matmul ins(%s, %w : tensor<16x32xf32>, tensor<32x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %m : tensor<16x16xf32>
}
