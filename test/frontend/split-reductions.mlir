// Reductions of much to few elements are done in parts side by side, and then of the parts.
// RUN: npuflow-opt %s --npuflow-split-reductions | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-split-reductions

// CHECK-LABEL: func.func @sum
// CHECK:         [[PARTS:%.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1], [2]] output_shape [50, 20, 1000]
// CHECK:         linalg.fill {{.*}} -> tensor<50xf32>
// CHECK:         linalg.generic {{.*}}"reduction", "reduction", "parallel"{{.*}} ins([[PARTS]] : tensor<50x20x1000xf32>)
// CHECK:         linalg.generic {{.*}}"reduction"{{.*}} ins({{.*}} : tensor<50xf32>) outs({{.*}} : tensor<f32>)
// CHECK:           arith.addf
func.func @sum(%x: tensor<1000x1000xf32>) -> tensor<f32> {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> ()>],
      iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1000x1000xf32>) outs(%f : tensor<f32>) {
    ^bb0(%i: f32, %o: f32):
      %s = arith.addf %i, %o : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// Parts of a maximum start from what the whole starts from.
// CHECK-LABEL: func.func @maxima
// CHECK:         linalg.fill ins(%c-7_i32 : i32) outs({{.*}} : tensor<3x64xi32>)
// CHECK:         linalg.generic {{.*}}"parallel", "reduction", "parallel"
// CHECK:         linalg.generic {{.*}}"parallel", "reduction"{{.*}} ins({{.*}} : tensor<3x64xi32>) outs({{.*}} : tensor<3xi32>)
func.func @maxima(%x: tensor<3x65536xi32>) -> tensor<3xi32> {
  %least = arith.constant -7 : i32
  %e = tensor.empty() : tensor<3xi32>
  %f = linalg.fill ins(%least : i32) outs(%e : tensor<3xi32>) -> tensor<3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x65536xi32>) outs(%f : tensor<3xi32>) {
    ^bb0(%i: i32, %o: i32):
      %s = arith.maxsi %i, %o : i32
      linalg.yield %s : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// Too little to share, a prime size, and a result that isn't just added to stay as they are.
// CHECK-LABEL: func.func @little
// CHECK-NOT:     tensor.expand_shape
func.func @little(%x: tensor<4096xi32>, %y: tensor<65537xi32>, %w: tensor<65536xi32>)
    -> (tensor<i32>, tensor<i32>, tensor<i32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<i32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<i32>) -> tensor<i32>
  %r = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<4096xi32>) outs(%f : tensor<i32>) {
    ^bb0(%i: i32, %o: i32):
      %s = arith.addi %i, %o : i32
      linalg.yield %s : i32
  } -> tensor<i32>
  %p = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> ()>], iterator_types = ["reduction"]}
      ins(%y : tensor<65537xi32>) outs(%f : tensor<i32>) {
    ^bb0(%i: i32, %o: i32):
      %s = arith.addi %i, %o : i32
      linalg.yield %s : i32
  } -> tensor<i32>
  %q = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> ()>], iterator_types = ["reduction"]}
      ins(%w : tensor<65536xi32>) outs(%f : tensor<i32>) {
    ^bb0(%i: i32, %o: i32):
      %d = arith.muli %o, %o : i32
      %s = arith.addi %d, %i : i32
      linalg.yield %s : i32
  } -> tensor<i32>
  return %r, %p, %q : tensor<i32>, tensor<i32>, tensor<i32>
}
