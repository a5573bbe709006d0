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

// SAID-COUNT-6: remark: [npuflow-fuse-readers] is computed where what it reads is made: that takes an estimated 0.{{[0-9]+}} of the time
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

// What it reads besides may be there later than what the first reads, in front of all others that read the first. What
// both read is read once.
// CHECK-LABEL: func.func @beside
// CHECK:         %[[Z:.*]] = tensor.extract_slice
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}}, %[[Z]] : tensor<512x512xf32>, tensor<512xf32>, tensor<512x512xf32>)
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<512x512xf32>, tensor<512x512xbf16>)
// CHECK:         ^bb0(%[[P:.*]]: f32, %[[Q:.*]]: f32, %[[R:.*]]: f32, %{{.*}}: f32, %{{.*}}: bf16):
// CHECK:           %[[SUM:.*]] = arith.addf %[[P]], %[[Q]]
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[R]], %[[SUM]]
// CHECK:           %[[MORE:.*]] = arith.addf %[[SCALED]], %[[Q]]
// CHECK:           %[[CUT:.*]] = arith.truncf %[[MORE]]
// CHECK:           linalg.yield %[[SUM]], %[[CUT]]
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[BOTH]]#0, %[[BOTH]]#1
func.func @beside(%x: tensor<512x512xf32>, %y: tensor<512xf32>, %w: tensor<512x1024xf32>) -> (tensor<512x512xf32>, tensor<512x512xbf16>) {
  %e = tensor.empty() : tensor<512x512xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<512x512xf32>, tensor<512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %z = tensor.extract_slice %w[0, 512] [512, 512] [1, 1] : tensor<512x1024xf32> to tensor<512x512xf32>
  %g = tensor.empty() : tensor<512x512xbf16>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%z, %a, %y : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>) outs(%g : tensor<512x512xbf16>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %o: bf16):
    %m = arith.mulf %p, %q : f32
    %n = arith.addf %m, %r : f32
    %s = arith.truncf %n : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<512x512xbf16>
  return %a, %b : tensor<512x512xf32>, tensor<512x512xbf16>
}

// Steps of a recurrence: each state is read by an output, and by the next step, whose other input that makes.
// CHECK-LABEL: func.func @steps
// CHECK-COUNT-3: :2 = linalg.generic
// CHECK-NOT:     :2 = linalg.generic
// CHECK:         return
func.func @steps(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %c0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %x : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %h0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %c0 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %m0 = linalg.matmul ins(%h0, %w : tensor<64x256xf32>, tensor<256x256xf32>) outs(%f : tensor<64x256xf32>) -> tensor<64x256xf32>
  %c1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c0, %m0 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %h1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m0, %c1 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %m1 = linalg.matmul ins(%h1, %w : tensor<64x256xf32>, tensor<256x256xf32>) outs(%f : tensor<64x256xf32>) -> tensor<64x256xf32>
  %c2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c1, %m1 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %h2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m1, %c2 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %m2 = linalg.matmul ins(%h2, %w : tensor<64x256xf32>, tensor<256x256xf32>) outs(%f : tensor<64x256xf32>) -> tensor<64x256xf32>
  %c3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c2, %m2 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %h3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m2, %c3 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  %m3 = linalg.matmul ins(%h3, %w : tensor<64x256xf32>, tensor<256x256xf32>) outs(%f : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %m3 : tensor<64x256xf32>
}

// What was joined with something can't be joined with anything else: %d is made with %c, not with %a, and %b reads that.
// CHECK-LABEL: func.func @moved
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK:         linalg.matmul
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%[[BOTH]]#0,
// CHECK-NOT:     :2 = linalg.generic
// CHECK:         return %{{.*}}, %[[B]], %[[BOTH]]#0, %[[BOTH]]#1
func.func @moved(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %c : tensor<512x512xf32>, tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %m = linalg.matmul ins(%x, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c, %m : tensor<512x512xf32>, tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %a, %b, %c, %d : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}

// What reads something besides that isn't there before others read, or something else, or turns what it reads, stays.
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
  %g = tensor.empty() : tensor<512x512xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<512x512xf32>) outs(%g : tensor<512x512xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<512x512xbf16>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %c : tensor<512x512xf32>, tensor<512x512xbf16>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%p: f32, %q: bf16, %o: f32):
    %w = arith.extf %q : bf16 to f32
    %s = arith.addf %p, %w : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<512x512xf32>) outs(%a : tensor<512x512xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %a, %b, %c, %d : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xbf16>, tensor<512x512xf32>
}
