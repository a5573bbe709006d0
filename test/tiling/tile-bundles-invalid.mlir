// RUN: npuflow-opt %s --npuflow-tile-bundles --verify-diagnostics

#same = affine_map<(d0) -> (d0)>
func.func @no_strategy(%x: tensor<60xf32>) -> tensor<60xf32> {
  %o = tensor.empty() : tensor<60xf32>
  // expected-error @below {{a bundle has no strategy; hint: run npuflow-assign-strategy before}}
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<60xf32>) outs(%o : tensor<60xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<60xf32>
  return %q : tensor<60xf32>
}
