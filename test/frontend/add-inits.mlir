// What a matmul begins with is added behind it where it is repeated along a dimension, as a bias is.
// RUN: npuflow-opt %s --npuflow-add-inits --mlir-print-local-scope | filecheck %s

#bias = affine_map<(n, c, h, w) -> (c)>
#image = affine_map<(n, c, h, w) -> (n, c, h, w)>
#x = affine_map<(n, o, h, w, i, a, b) -> (n, i, h + a, w + b)>
#k = affine_map<(n, o, h, w, i, a, b) -> (o, i, a, b)>
#y = affine_map<(n, o, h, w, i, a, b) -> (n, o, h, w)>

// CHECK-LABEL: func.func @one_by_one
// CHECK:         [[BIAS:%.*]] = linalg.generic {{.*}}ins(%arg2 : tensor<8xf32>)
// CHECK:         [[ZEROS:%.*]] = linalg.fill ins(%{{.*}} : f32)
// CHECK:         [[SUM:%.*]] = linalg.generic {{.*}}ins(%arg0, %arg1 {{.*}}outs([[ZEROS]]
// CHECK:         [[ADDED:%.*]] = linalg.generic {{.*}}ins([[SUM]], [[BIAS]]
// CHECK:           arith.addf
// CHECK:         return [[ADDED]]
func.func @one_by_one(%x: tensor<1x4x6x6xf32>, %k: tensor<8x4x1x1xf32>, %b: tensor<8xf32>) -> tensor<1x8x6x6xf32> {
  %e = tensor.empty() : tensor<1x8x6x6xf32>
  %i = linalg.generic {indexing_maps = [#bias, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b : tensor<8xf32>) outs(%e : tensor<1x8x6x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x8x6x6xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %k : tensor<1x4x6x6xf32>, tensor<8x4x1x1xf32>) outs(%i : tensor<1x8x6x6xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %p = arith.mulf %a, %c : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x8x6x6xf32>
  return %r : tensor<1x8x6x6xf32>
}

// A window repeats its bias on its own tile.
// CHECK-LABEL: func.func @window
// CHECK:         [[BIAS:%.*]] = linalg.generic {{.*}}ins(%arg2 : tensor<8xf32>)
// CHECK:         linalg.generic {{.*}}ins(%arg0, %arg1 {{.*}}outs([[BIAS]]
// CHECK-NOT:     linalg.generic
func.func @window(%x: tensor<1x4x8x8xf32>, %k: tensor<8x4x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8x6x6xf32> {
  %e = tensor.empty() : tensor<1x8x6x6xf32>
  %i = linalg.generic {indexing_maps = [#bias, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b : tensor<8xf32>) outs(%e : tensor<1x8x6x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x8x6x6xf32>
  %r = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %k : tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) outs(%i : tensor<1x8x6x6xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %p = arith.mulf %a, %c : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x8x6x6xf32>
  return %r : tensor<1x8x6x6xf32>
}

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// What has an element for each sum is as large as the result: it is read where sums begin.
// CHECK-LABEL: func.func @accumulate
// CHECK:         [[INIT:%.*]] = linalg.generic {{.*}}ins(%arg2 : tensor<8x6xi32>)
// CHECK:         linalg.generic {{.*}}ins(%arg0, %arg1 {{.*}}outs([[INIT]]
// CHECK-NOT:     linalg.generic
func.func @accumulate(%x: tensor<8x4xi32>, %w: tensor<4x6xi32>, %c: tensor<8x6xi32>) -> tensor<8x6xi32> {
  %e = tensor.empty() : tensor<8x6xi32>
  %i = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<8x6xi32>) outs(%e : tensor<8x6xi32>) {
  ^bb0(%a: i32, %o: i32):
    %t = arith.muli %a, %a : i32
    linalg.yield %t : i32
  } -> tensor<8x6xi32>
  %r = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x4xi32>, tensor<4x6xi32>) outs(%i : tensor<8x6xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %p = arith.muli %a, %b : i32
    %t = arith.addi %o, %p : i32
    linalg.yield %t : i32
  } -> tensor<8x6xi32>
  return %r : tensor<8x6xi32>
}
