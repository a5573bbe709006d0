// Marks that don't go with the ops are refused by who has no other use of them than to tile by them.
// RUN: npuflow-opt %s --npuflow-tile-bundles --verify-diagnostics --split-input-file
// The same marks are refused where strategies are assigned; what these say of a bundle is judged there as well.
// RUN: not npuflow-opt %s --npuflow-assign-strategy=device=toy --split-input-file 2>&1 | filecheck %s
// CHECK: bundle 0 is none, as func.return outside of it reads what is not its last op's
// CHECK: npu.bundle is no number
// CHECK: tile_l1 has 1 numbers, this bundle needs 2
// CHECK: npu.strategy is malformed

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @leaks(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  %e = tensor.empty() : tensor<16x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16x64xf32>
  // expected-error @below {{bundle 0 is none, as func.return outside of it reads what is not its last op's; hint: leave out npu.bundle, as npuflow-drop-marks does: what belongs together is found without it}}
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [1, 1], spread = [0, 1], tile_l1 = [4, 64], order = [0, 1]}>} {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16x64xf32>
  return %a, %b : tensor<16x64xf32>, tensor<16x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @no_number(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  // expected-error @below {{npu.bundle is no number; hint: leave out npu.bundle}}
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) attrs = {npu.bundle} {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16x64xf32>
  return %a : tensor<16x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @one_loop(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  // expected-error @below {{tile_l1 has 1 numbers, this bundle needs 2; hint: give 2}}
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [1, 1], spread = [0, 1], tile_l1 = [4], order = [0, 1]}>} {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16x64xf32>
  return %a : tensor<16x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @malformed(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  // expected-error @below {{npu.strategy is malformed}}
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
      attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [0, 1]}>} {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16x64xf32>
  return %a : tensor<16x64xf32>
}
