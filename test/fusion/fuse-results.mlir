// What reshapes and turns a matmul's result is done on the matmul's tiles, where that is faster.
// RUN: npuflow-opt %s --npuflow-fuse-results=device=npu4.0 --mlir-print-local-scope --remarks 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=SAID --input-file=%t
// RUN: npuflow-opt %s --npuflow-fuse-results=device=npu2 --mlir-print-local-scope | filecheck %s --check-prefix=ARRAY

// Heads in front: the matmul has a loop for them, and an engine of patches writes its sums as they are asked for.
// CHECK-LABEL: func.func @heads
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [32, 4, 8]
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>]
// CHECK-SAME:      outs(%{{.*}} : tensor<4x64x8xf32>) attrs = {npu.bundle = 0 : i64}
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%[[R]] : tensor<4x64x8xf32>) {{.*}} attrs = {npu.bundle = 0 : i64}
// CHECK-NOT:     linalg.generic
// CHECK:         return

// Other engines write sums as they are made, and the other op reads them so.
// ARRAY-LABEL: func.func @heads
// ARRAY:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
// ARRAY:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]

// SAID: remark: [npuflow-fuse-results] is done on a matmul's tiles: that takes an estimated 0.{{[0-9]+}} of the time
// SAID-NOT: remark
func.func @heads(%x: tensor<64x32xbf16>, %w: tensor<32x32xbf16>) -> tensor<4x64x8xbf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.matmul ins(%x, %w : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %h = tensor.expand_shape %r [[0], [1, 2]] output_shape [64, 4, 8] : tensor<64x32xf32> into tensor<64x4x8xf32>
  %g = tensor.empty() : tensor<4x64x8xbf16>
  %t = linalg.generic {indexing_maps = [affine_map<(h, i, d) -> (i, h, d)>, affine_map<(h, i, d) -> (h, i, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h : tensor<64x4x8xf32>) outs(%g : tensor<4x64x8xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<4x64x8xbf16>
  return %t : tensor<4x64x8xbf16>
}

// A result that somebody else reads as well stays, as does one that a tail reads where it lies.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: linalg.matmul
// CHECK-NOT:     npu.bundle
func.func @stays(%x: tensor<64x32xbf16>, %w: tensor<32x32xbf16>) -> (tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64x32xbf16>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.matmul ins(%x, %w : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %g = tensor.empty() : tensor<32x64xbf16>
  %t = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j, i)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<64x32xf32>) outs(%g : tensor<32x64xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<32x64xbf16>
  %s = linalg.matmul ins(%x, %w : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %k = tensor.empty() : tensor<64x32xbf16>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<64x32xf32>) outs(%k : tensor<64x32xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  } -> tensor<64x32xbf16>
  return %r, %t, %u : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64x32xbf16>
}
