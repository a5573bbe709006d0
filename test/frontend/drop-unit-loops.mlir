// Between two sums of products, with a softmax or another reduction in between, loops of one step are left out.
// RUN: npuflow-opt %s --npuflow-drop-unit-loops --mlir-print-local-scope | filecheck %s

#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#s = affine_map<(b, m, n, k) -> (b, m, n)>
#whole = affine_map<(o, b, i, j) -> (o, b, i, j)>
#heads_first = affine_map<(o, b, i, j) -> (b, o, i, j)>
#rows = affine_map<(o, b, i, j) -> (o, b, i)>
#w = affine_map<(o, b, m, n, k) -> (o, b, m, k)>
#v = affine_map<(o, b, m, n, k) -> (b, k, n, o)>
#r = affine_map<(o, b, m, n, k) -> (o, b, m, n)>

// Reshapes that add a dimension in different places are between the ops: all of them lose it, the last one too.
// CHECK-LABEL: func.func @reshaped
// CHECK:         [[S:%.*]] = linalg.batch_matmul {{.*}}ins(%arg0, %arg1 : {{.*}}
// CHECK-NOT:     expand_shape
// CHECK:         [[M:%.*]] = linalg.generic {{.*}}["parallel", "parallel", "reduction"]} ins([[S]] : tensor<4x8x16xf32>)
// CHECK:         [[P:%.*]] = linalg.generic {{.*}}ins([[S]], [[M]] : tensor<4x8x16xf32>, tensor<4x8xf32>)
// CHECK:         [[V:%.*]] = tensor.collapse_shape %arg2 {{.*}} into tensor<4x16x2xf32>
// CHECK:         [[R:%.*]] = linalg.generic {{.*}}["parallel", "parallel", "parallel", "reduction"]} ins([[P]], [[V]]
// CHECK:         tensor.expand_shape [[R]] {{.*}} into tensor<1x4x8x2xf32>
func.func @reshaped(%q: tensor<4x8x2xf32>, %k: tensor<4x16x2xf32>, %v: tensor<4x16x2x1xf32>, %f: tensor<4x8x16xf32>) -> tensor<1x4x8x2xf32> {
  %z = arith.constant 0.0 : f32
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<4x8x2xf32>, tensor<4x16x2xf32>)
      outs(%f : tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %x = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, 4, 8, 16] : tensor<4x8x16xf32> into tensor<1x4x8x16xf32>
  %er = tensor.empty() : tensor<1x4x8xf32>
  %fm = linalg.fill ins(%z : f32) outs(%er : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %m = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x : tensor<1x4x8x16xf32>) outs(%fm : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8xf32>
  %e = tensor.empty() : tensor<1x4x8x16xf32>
  %y = tensor.expand_shape %s [[0], [1, 2], [3]] output_shape [4, 1, 8, 16] : tensor<4x8x16xf32> into tensor<4x1x8x16xf32>
  %p = linalg.generic {indexing_maps = [#heads_first, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %m : tensor<4x1x8x16xf32>, tensor<1x4x8xf32>) outs(%e : tensor<1x4x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8x16xf32>
  %eo = tensor.empty() : tensor<1x4x8x2xf32>
  %fo = linalg.fill ins(%z : f32) outs(%eo : tensor<1x4x8x2xf32>) -> tensor<1x4x8x2xf32>
  %r = linalg.generic {indexing_maps = [#w, #v, #r], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<1x4x8x16xf32>, tensor<4x16x2x1xf32>) outs(%fo : tensor<1x4x8x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.mulf %a, %b : f32
    %t = arith.addf %o, %c : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8x2xf32>
  return %r : tensor<1x4x8x2xf32>
}

#q1 = affine_map<(o, b, m, n, k) -> (o, b, m, k)>
#k1 = affine_map<(o, b, m, n, k) -> (o, b, n, k)>
#s1 = affine_map<(o, b, m, n, k) -> (o, b, m, n)>
#v1 = affine_map<(o, b, m, n, k) -> (o, b, k, n)>

// Nothing is reshaped, so all ops have the loop of one step in common.
// CHECK-LABEL: func.func @in_common
// CHECK-COUNT-3: } -> tensor<1x4x8x
func.func @in_common(%q: tensor<1x4x8x2xf32>, %k: tensor<1x4x16x2xf32>, %v: tensor<1x4x16x2xf32>, %f: tensor<1x4x8x16xf32>, %fm: tensor<1x4x8xf32>, %fo: tensor<1x4x8x2xf32>) -> tensor<1x4x8x2xf32> {
  %s = linalg.generic {indexing_maps = [#q1, #k1, #s1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<1x4x8x2xf32>, tensor<1x4x16x2xf32>) outs(%f : tensor<1x4x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8x16xf32>
  %m = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : tensor<1x4x8x16xf32>) outs(%fm : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8xf32>
  %e = tensor.empty() : tensor<1x4x8x16xf32>
  %p = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<1x4x8x16xf32>, tensor<1x4x8xf32>) outs(%e : tensor<1x4x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8x16xf32>
  %r = linalg.generic {indexing_maps = [#w, #v1, #r], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<1x4x8x16xf32>, tensor<1x4x16x2xf32>) outs(%fo : tensor<1x4x8x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.mulf %a, %b : f32
    %t = arith.addf %o, %c : f32
    linalg.yield %t : f32
  } -> tensor<1x4x8x2xf32>
  return %r : tensor<1x4x8x2xf32>
}

// A single query: its loop of one step is the only one that the first factor has alone, so nothing is left out.
// CHECK-LABEL: func.func @single_row
// CHECK:         } -> tensor<4x1x16xf32>
// CHECK:         tensor.expand_shape {{.*}} into tensor<1x4x1x16xf32>
// CHECK:         } -> tensor<1x4x1x16xf32>
// CHECK:         } -> tensor<1x4x1x2xf32>
func.func @single_row(%q: tensor<4x1x2xf32>, %k: tensor<4x16x2xf32>, %v: tensor<4x16x2x1xf32>, %f: tensor<4x1x16xf32>, %fm: tensor<1x4x1xf32>, %fo: tensor<1x4x1x2xf32>) -> tensor<1x4x1x2xf32> {
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4x1x2xf32>, tensor<4x16x2xf32>) outs(%f : tensor<4x1x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<4x1x16xf32>
  %x = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, 4, 1, 16] : tensor<4x1x16xf32> into tensor<1x4x1x16xf32>
  %m = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x : tensor<1x4x1x16xf32>) outs(%fm : tensor<1x4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<1x4x1xf32>
  %e = tensor.empty() : tensor<1x4x1x16xf32>
  %p = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<1x4x1x16xf32>, tensor<1x4x1xf32>) outs(%e : tensor<1x4x1x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<1x4x1x16xf32>
  %r = linalg.generic {indexing_maps = [#w, #v, #r], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<1x4x1x16xf32>, tensor<4x16x2x1xf32>) outs(%fo : tensor<1x4x1x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.mulf %a, %b : f32
    %t = arith.addf %o, %c : f32
    linalg.yield %t : f32
  } -> tensor<1x4x1x2xf32>
  return %r : tensor<1x4x1x2xf32>
}
