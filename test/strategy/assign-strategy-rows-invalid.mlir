// What says nothing of a loop, or of no tile.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=npu4.0 --split-input-file --verify-diagnostics

// expected-error @below {{npu.rows says {loop = 0 : i64}; hint: for example npu.rows = {loop = 2, tile = 10}}}
func.func @loop(%a: tensor<16xf32>) -> tensor<16xf32> attributes {npu.rows = {loop = 0 : i64}} {
  %0 = tensor.empty() : tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<16xf32>) outs(%0 : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %2 = arith.addf %x, %x : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

// expected-error @below {{npu.rows says {loop = 0 : i64, tile = 0 : i64}; hint: for example}}
func.func @tile(%a: tensor<16xf32>) -> tensor<16xf32> attributes {npu.rows = {loop = 0 : i64, tile = 0 : i64}} {
  %0 = tensor.empty() : tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<16xf32>) outs(%0 : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %2 = arith.addf %x, %x : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
