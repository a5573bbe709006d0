// RUN: npuflow-opt %s --npuflow-assign-strategy='device=npu1' --split-input-file --verify-diagnostics

// expected-error @+2 {{npu.load_seconds says 43 : i64}}
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @whole(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {npu.load_seconds = 43 : i64} {
  %e = tensor.empty() : tensor<64x256xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}
