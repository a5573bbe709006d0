// Two matmuls in f16 stay apart where the second is set up while the first works: one after the other, each set up by
// itself, they would take longer than as one on npu2. On npu1 cores have room for the programs of both, and need no change.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls="device=npu2 bundle-matmuls=true" --remarks 2>&1 | filecheck %s
// RUN: npuflow-opt %s --npuflow-fuse-matmuls="device=npu1 bundle-matmuls=true" --remarks 2>&1 | filecheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK: two matmuls in a row hand over 84480 bytes in L3: as one they take an estimated 1.{{[0-9]+}} of the time that they take apart
// CHECK-LABEL: func.func @products
// CHECK-NOT: npu.bundle
func.func @products(%arg0: tensor<120x100xf16>, %arg1: tensor<100x64xf16>, %arg2: tensor<64x80xf16>) -> tensor<120x80xf16> {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<120x64xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<120x64xf32>) -> tensor<120x64xf32>
  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<120x100xf16>, tensor<100x64xf16>) outs(%1 : tensor<120x64xf32>) -> tensor<120x64xf32>
  %3 = tensor.empty() : tensor<120x64xf16>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<120x64xf32>) outs(%3 : tensor<120x64xf16>) {
  ^bb0(%in: f32, %out: f16):
    %10 = arith.truncf %in : f32 to f16
    linalg.yield %10 : f16
  } -> tensor<120x64xf16>
  %5 = tensor.empty() : tensor<120x80xf32>
  %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<120x80xf32>) -> tensor<120x80xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%4, %arg2 : tensor<120x64xf16>, tensor<64x80xf16>) outs(%6 : tensor<120x80xf32>) {
  ^bb0(%in: f16, %in_0: f16, %out: f32):
    %10 = arith.extf %in : f16 to f32
    %11 = arith.extf %in_0 : f16 to f32
    %12 = arith.mulf %10, %11 : f32
    %13 = arith.addf %out, %12 : f32
    linalg.yield %13 : f32
  } -> tensor<120x80xf32>
  %8 = tensor.empty() : tensor<120x80xf16>
  %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<120x80xf32>) outs(%8 : tensor<120x80xf16>) {
  ^bb0(%in: f32, %out: f16):
    %10 = arith.truncf %in : f32 to f16
    linalg.yield %10 : f16
  } -> tensor<120x80xf16>
  return %9 : tensor<120x80xf16>
}
