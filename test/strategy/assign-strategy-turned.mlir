// A grid that fits the array only with its columns along m has them so; bundles beside it take the array that is meant.
// RUN: npuflow-opt %s --npuflow-assign-strategy="device=npu2 grid=8,4" | filecheck %s
// RUN: npuflow-opt %s --npuflow-assign-strategy="device=npu2 grid=4,8" | filecheck %s --check-prefix=FITS

#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: @matmul
// CHECK:       linalg.matmul
// CHECK-SAME:  grid = [8, 4]
// CHECK-SAME:  turned = 1
// CHECK:       linalg.generic
// CHECK-SAME:  grid = [4, 8]
// FITS:        linalg.matmul
// FITS-SAME:   grid = [4, 8]
// FITS-NOT:    turned
func.func @matmul(%a: tensor<512x256xbf16>, %b: tensor<256x512xbf16>, %x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %sum = linalg.matmul ins(%a, %b : tensor<512x256xbf16>, tensor<256x512xbf16>) outs(%filled : tensor<512x512xf32>) -> tensor<512x512xf32>
  %sin = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x512xf32>) outs(%empty : tensor<512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.sin %in : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %sum, %sin : tensor<512x512xf32>, tensor<512x512xf32>
}
