// What belongs to no group is refused, and so is what has strategies that nobody can tell from the user's.
// RUN: npuflow-opt %s --npuflow-split-functions=device=toy --split-input-file --verify-diagnostics

func.func @stray(%a: tensor<16x16xf32>) -> tensor<4x4xf32> {
  %m = linalg.matmul ins(%a, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%a : tensor<16x16xf32>) -> tensor<16x16xf32>
  // expected-error@+1 {{tensor.bitcast is in no group; hint: npuflow-check-input says what can be compiled}}
  %b = tensor.bitcast %m : tensor<16x16xf32> to tensor<16x16xi32>
  %s = tensor.extract_slice %a[0, 0] [4, 4] [1, 1] : tensor<16x16xf32> to tensor<4x4xf32>
  // Every op is reported, not only the first one.
  // expected-error@+1 {{tensor.cast is in no group}}
  %c = tensor.cast %s : tensor<4x4xf32> to tensor<?x?xf32>
  // expected-error@+1 {{tensor.cast is in no group}}
  %d = tensor.cast %c : tensor<?x?xf32> to tensor<4x4xf32>
  %n = linalg.matmul ins(%d, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%d : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %n : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @assigned(%a: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %e = tensor.empty() : tensor<16x16xf32>
  // expected-error@+1 {{linalg.generic is in bundle 3 already; hint: split functions before npuflow-assign-strategy}}
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>)
      attrs = {npu.bundle = 3, npu.strategy = #npu.strategy<{grid = [1, 1], spread = [0, 0], tile_l1 = [1, 1], order = [0, 1]}>} {
  ^bb0(%x: f32, %o: f32):
    %t = arith.negf %x : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}
