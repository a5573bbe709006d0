// Without fusion, what a product multiplies is made by a part of its own; with it, where that is faster.
// RUN: npuflow-opt %s --npuflow-split-functions="device=toy fuse=false" | filecheck %s
// RUN: npuflow-opt %s --npuflow-split-functions=device=toy | filecheck %s --check-prefix=FUSED

// CHECK-LABEL: func.func @head(
// CHECK:         call @head_0
// CHECK:         call @head_1
// FUSED-LABEL: func.func @head(
// FUSED-NOT:     call
func.func @head(%x: tensor<16x32xbf16>, %w: tensor<32x16xi8>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %d = tensor.empty() : tensor<32x16xbf16>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<32x16xi8>) outs(%d : tensor<32x16xbf16>) {
  ^bb0(%a: i8, %o: bf16):
    %t = arith.sitofp %a : i8 to bf16
    linalg.yield %t : bf16
  } -> tensor<32x16xbf16>
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %b : tensor<16x32xbf16>, tensor<32x16xbf16>) outs(%f : tensor<16x16xf32>) {
  ^bb0(%p: bf16, %q: bf16, %o: f32):
    %s = arith.extf %p : bf16 to f32
    %t = arith.extf %q : bf16 to f32
    %u = arith.mulf %s, %t : f32
    %v = arith.addf %u, %o : f32
    linalg.yield %v : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
