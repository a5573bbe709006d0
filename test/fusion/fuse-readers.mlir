// What is computed of each element of a result that others read too is computed where that is made.
// RUN: npuflow-opt %s --npuflow-fuse-readers=device=npu2 --mlir-print-local-scope --remarks 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix=SAID --input-file=%t

// CHECK-LABEL: func.func @returned
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<2048x512xf32>, tensor<2048x512xbf16>)
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK-NEXT:      %[[CUT:.*]] = arith.truncf %[[SUM]]
// CHECK-NEXT:      linalg.yield %[[SUM]], %[[CUT]]
// CHECK-NOT:     linalg.generic
// CHECK:         %[[OUT:.*]] = tensor.expand_shape %[[BOTH]]#1 {{.*}} into tensor<4x512x512xbf16>
// CHECK:         return %[[BOTH]]#0, %[[OUT]]

// SAID: remark: [npuflow-fuse-readers] is computed where what it reads is made: that takes an estimated 0.{{[0-9]+}} of the time
// SAID-NOT: remark
func.func @returned(%x: tensor<2048x512xf32>, %y: tensor<2048x512xf32>) -> (tensor<2048x512xf32>, tensor<4x512x512xbf16>) {
  %e = tensor.empty() : tensor<2048x512xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<2048x512xf32>, tensor<2048x512xf32>) outs(%e : tensor<2048x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2048x512xf32>
  %v = tensor.expand_shape %a [[0, 1], [2]] output_shape [4, 512, 512] : tensor<2048x512xf32> into tensor<4x512x512xf32>
  %g = tensor.empty() : tensor<4x512x512xbf16>
  %b = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<4x512x512xf32>) outs(%g : tensor<4x512x512xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<4x512x512xbf16>
  return %a, %b : tensor<2048x512xf32>, tensor<4x512x512xbf16>
}

// What reads something else as well or instead, or turns what it reads, stays.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @stays(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xbf16>, tensor<512x512xf32>) {
  %e = tensor.empty() : tensor<512x512xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %y : tensor<512x512xf32>, tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %g = tensor.empty() : tensor<512x512xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<512x512xf32>) outs(%g : tensor<512x512xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<512x512xbf16>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<512x512xf32>) outs(%a : tensor<512x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %a, %b, %c, %d : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xbf16>, tensor<512x512xf32>
}
