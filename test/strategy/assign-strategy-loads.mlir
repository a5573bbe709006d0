// Where a function says how long each core that it takes is loaded, it takes as many as that and its work make fastest.
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=npu1' --split-input-file | filecheck %s
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=npu1 grid=4,4' --split-input-file | filecheck %s --check-prefix=GIVEN

// CHECK-LABEL: func.func @found_there
// CHECK:         linalg.generic {{.*}}grid = [4, 2]
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @found_there(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %e = tensor.empty() : tensor<64x256xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// -----

// 43 us for each core are more than all of the work.
// CHECK-LABEL: func.func @loaded
// CHECK:         linalg.generic {{.*}}grid = [1, 1]
// GIVEN-LABEL: func.func @loaded
// GIVEN:         linalg.generic {{.*}}grid = [4, 4]
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @loaded(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {npu.load_seconds = 4.3e-05 : f64} {
  %e = tensor.empty() : tensor<64x256xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}
