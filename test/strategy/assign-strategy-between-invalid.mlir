// What says nothing of what is handed over, or of arguments and results that aren't there.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=npu2 --split-input-file --verify-diagnostics

// expected-error @below {{npu.between says 7 : i64; hint: for example npu.between = {arguments = array<i64: 1, 4>, results = array<i64: 0>}}}
func.func @number(%a: tensor<16xf32>) -> tensor<16xf32> attributes {npu.between = 7 : i64} {
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

// expected-error @below {{npu.between says {arguments = array<i64: 0>}; hint: for example}}
func.func @one_side(%a: tensor<16xf32>) -> tensor<16xf32> attributes {npu.between = {arguments = array<i64: 0>}} {
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

// expected-error @below {{npu.between has number 1 of 1 arguments; hint: for example}}
func.func @third(%a: tensor<16xf32>) -> tensor<16xf32>
    attributes {npu.between = {arguments = array<i64: 0, 1>, results = array<i64: 0>}} {
  %0 = tensor.empty() : tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<16xf32>) outs(%0 : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %2 = arith.addf %x, %x : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
