// What sums of products of f32 read is bf16, and so is what layers hand on; sums, statistics and results stay f32.
// RUN: npuflow-opt %s --npuflow-narrow-products --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-narrow-products --npuflow-normalize-linalg --mlir-print-local-scope | filecheck %s --check-prefix=FOLDED
// RUN: npuflow-opt %s --npuflow-narrow-products -o %t
// RUN: npuflow run %t --device=toy --seed=3 | filecheck %s --check-prefix=EXECUTED
// EXECUTED-COUNT-10: verified {{.*}}against

#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>

// Two layers: arguments are rounded where they come in, weights here and now, and the ReLU between is what is rounded,
// once for both of its readers. The result is not.
// CHECK-LABEL: func.func @layers
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x16xf32>
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8x16xf32>) outs(%{{.*}} : tensor<8x16xbf16>)
// CHECK:           arith.truncf
// CHECK:         %[[A:.*]] = linalg.generic {{.*}} ins(%[[N]] : tensor<8x16xbf16>) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:           arith.extf
// CHECK:         %[[W:.*]] = arith.constant dense<{{.*}}> : tensor<16x4xbf16>
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<16x4xbf16>)
// CHECK:         %[[R:.*]] = linalg.matmul ins(%[[A]], %[[B]] : tensor<8x16xf32>, tensor<16x4xf32>)
// CHECK:         %[[V:.*]] = linalg.generic {{.*}} ins(%[[R]] : tensor<8x4xf32>)
// CHECK:           arith.maximumf
// CHECK:         %[[H:.*]] = linalg.generic {{.*}} ins(%[[V]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         %[[E:.*]] = linalg.generic {{.*}} ins(%[[H]] : tensor<8x4xbf16>)
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:         %[[S:.*]] = linalg.matmul ins(%[[T]], %[[E]] :
// CHECK-NOT:     truncf
// CHECK:         return %[[S]], %[[V]] : tensor<4x4xf32>, tensor<8x4xf32>
// FOLDED-LABEL: func.func @layers
// FOLDED:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x16xbf16>, tensor<16x4xbf16>) outs(%{{.*}} : tensor<8x4xf32>)
// FOLDED:         linalg.matmul indexing_maps = {{.*}} ins(%[[H:.*]], %[[H]] : tensor<8x4xbf16>, tensor<8x4xbf16>) outs(%{{.*}} : tensor<4x4xf32>)
func.func @layers(%x: tensor<8x16xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
  %w = arith.constant dense<0.3> : tensor<16x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %t = linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8x4xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %e3 = tensor.empty() : tensor<4x4xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.matmul ins(%t, %v : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z3 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s, %v : tensor<4x4xf32>, tensor<8x4xf32>
}

// Zeros around an image are zeros of bf16 as well: what is rounded is the image.
// CHECK-LABEL: func.func @padded
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x6x6xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<1x2x6x6xf32>) outs(%{{.*}} : tensor<1x2x6x6xbf16>)
// CHECK:         tensor.pad
// CHECK:         linalg.conv_2d_nchw_fchw
// FOLDED-LABEL: func.func @padded
// FOLDED:         tensor.pad
// FOLDED:         tensor<1x2x6x6xbf16> to tensor<1x2x8x8xbf16>
func.func @padded(%x: tensor<1x2x6x6xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x2x6x6xf32> to tensor<1x2x8x8xf32>
  %e = tensor.empty() : tensor<1x4x6x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%p, %w : tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) outs(%z : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %r : tensor<1x4x6x6xf32>
}

// What a sum begins at is no factor.
// CHECK-LABEL: func.func @begun
// CHECK:         linalg.matmul ins(%{{.*}}, %{{.*}} : {{.*}}) outs(%arg2 :
func.func @begun(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Sums without products stay what they are.
// CHECK-LABEL: func.func @sums
// CHECK-NOT:     bf16
// CHECK:         return
func.func @sums(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.mulf %in, %in : f32
    %t = arith.addf %out, %q : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// What is joined is rounded where it is made, and joined as bf16, also where others read a part of it.
// CHECK-LABEL: func.func @joined
// CHECK-DAG:     %[[A:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xbf16>)
// CHECK-DAG:     %[[C:.*]] = tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<8x8xbf16>
// CHECK:         %[[W:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<8x8xbf16>) outs(%{{.*}} : tensor<8x8xf32>)
// CHECK:         linalg.matmul ins(%[[W]],
func.func @joined(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %w = arith.constant dense<0.25> : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.exp %in : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  %c = tensor.concat dim(0) %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %f = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%c, %w : tensor<8x8xf32>, tensor<8x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.negf %in : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %r, %s : tensor<8x4xf32>, tensor<4x8xf32>
}

// What has elements of narrow tensors alone is narrow, though no product reads it: their greatest in windows, and what
// is joined of them. Sums of windows, as means are, are handed on as layers are.
// CHECK-LABEL: func.func @pooled
// CHECK:         %[[G:.*]] = linalg.generic {{.*}}"reduction"]} {{.*}} outs(%{{.*}} : tensor<4x4xf32>)
// CHECK:         %[[H:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xbf16>)
// CHECK:         %[[M:.*]] = linalg.generic {{.*}}"reduction"]} {{.*}} outs(%{{.*}} : tensor<4x4xf32>)
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[M]] : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xbf16>)
// CHECK:         %[[C:.*]] = tensor.concat dim(0) %[[H]], %[[N]] : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
// CHECK:         %[[E:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<8x4xbf16>)
// CHECK:         linalg.generic {{.*}} ins(%[[E]] : tensor<8x4xf32>)
// CHECK:           math.exp
func.func @pooled(%x: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %w = arith.constant dense<0.3> : tensor<16x4xf32>
  %zero = arith.constant 0.0 : f32
  %k = tensor.empty() : tensor<2xf32>
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = tensor.empty() : tensor<4x4xf32>
  %l = linalg.fill ins(%lowest : f32) outs(%p : tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0 * 2 + d2, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%r, %k : tensor<8x4xf32>, tensor<2xf32>) outs(%l : tensor<4x4xf32>) {
  ^bb0(%in: f32, %tap: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<4x4xf32>
  %n = linalg.fill ins(%zero : f32) outs(%p : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0 * 2 + d2, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%r, %k : tensor<8x4xf32>, tensor<2xf32>) outs(%n : tensor<4x4xf32>) {
  ^bb0(%in: f32, %tap: f32, %out: f32):
    %m = arith.addf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<4x4xf32>
  %c = tensor.concat dim(0) %g, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %v = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.exp %in : f32
    linalg.yield %t : f32
  } -> tensor<8x4xf32>
  return %v : tensor<8x4xf32>
}

// What several ops make of a sum alone, as a SiLU is, is rounded where all of it is one again, here for a sum and an op
// that both read it; and so is what they read, whose products are products of bf16 then.
// CHECK-LABEL: func.func @gated
// CHECK:         %[[R:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[R]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         %[[X:.*]] = linalg.generic {{.*}} ins(%[[N]] : tensor<8x4xbf16>)
// CHECK:         %[[G:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8x4xf32>)
// CHECK:           math.exp
// CHECK:         %[[V:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[G]] : tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK:           arith.mulf
// CHECK:         %[[H:.*]] = linalg.generic {{.*}} ins(%[[V]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         %[[E:.*]] = linalg.generic {{.*}} ins(%[[H]] : tensor<8x4xbf16>)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[E]] : tensor<8x4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[E]], %{{.*}} : tensor<8x4xf32>, tensor<8xf32>)
// CHECK-NOT:     truncf
// CHECK:         return
func.func @gated(%x: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %w = arith.constant dense<0.3> : tensor<16x4xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %s = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %g = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    %p = math.exp %n : f32
    %a = arith.addf %p, %one : f32
    %d = arith.divf %one, %a : f32
    linalg.yield %d : f32
  } -> tensor<8x4xf32>
  %v = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%r, %g : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %gate: f32, %out: f32):
    %p = arith.mulf %in, %gate : f32
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  %m = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%v : tensor<8x4xf32>) outs(%zs : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %o = linalg.generic {indexing_maps = [#same, #row, #same], iterator_types = ["parallel", "parallel"]} ins(%v, %m : tensor<8x4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %mean: f32, %out: f32):
    %p = arith.mulf %in, %mean : f32
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  return %o : tensor<8x4xf32>
}

// Two sums that meet are rounded, and so is what they are together, which others read; a smaller one is read by the
// larger one's tail, which goes on.
// CHECK-LABEL: func.func @met
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK:         linalg.generic {{.*}} ins(%[[A]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         %[[B:.*]] = linalg.matmul
// CHECK:         %[[C:.*]] = linalg.matvec
// CHECK:         linalg.generic {{.*}} ins(%[[C]] : tensor<8xf32>) outs(%{{.*}} : tensor<8xbf16>)
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[B]], %{{.*}} : tensor<8x4xf32>, tensor<8xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[T]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         %[[V:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[V]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
func.func @met(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8xf32> {
  %w = arith.constant dense<0.3> : tensor<16x4xf32>
  %u = arith.constant dense<0.2> : tensor<16xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %s = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %b = linalg.matmul ins(%y, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = linalg.matvec ins(%y, %u : tensor<8x16xf32>, tensor<16xf32>) outs(%zs : tensor<8xf32>) -> tensor<8xf32>
  %t = linalg.generic {indexing_maps = [#same, #row, #same], iterator_types = ["parallel", "parallel"]} ins(%b, %c : tensor<8x4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %each: f32, %out: f32):
    %p = arith.addf %in, %each : f32
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  %v = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %t : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %p = arith.addf %in, %other : f32
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  %m = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%v : tensor<8x4xf32>) outs(%zs : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.addf %in, %out : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  return %m : tensor<8xf32>
}

// What is turned as a whole goes on behind that.
// CHECK-LABEL: func.func @turned
// CHECK:         %[[R:.*]] = linalg.matmul
// CHECK-NEXT:    tensor.empty
// CHECK-NEXT:    %[[T:.*]] = linalg.transpose ins(%[[R]] :
// CHECK:         %[[V:.*]] = linalg.generic {{.*}} ins(%[[T]] : tensor<4x8xf32>)
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} ins(%[[V]] : tensor<4x8xf32>) outs(%{{.*}} : tensor<4x8xbf16>)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
func.func @turned(%x: tensor<8x16xf32>) -> tensor<4xf32> {
  %w = arith.constant dense<0.3> : tensor<16x4xf32>
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %s = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %t = linalg.transpose ins(%r : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) permutation = [1, 0]
  %v = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.addf %in, %one : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %m = linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%v : tensor<4x8xf32>) outs(%zs : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.addf %in, %out : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  return %m : tensor<4xf32>
}

// The lowest number of f32, which masks have, would be -inf in bf16: it is bf16's lowest one. Infinities are infinite.
// CHECK-LABEL: func.func @masked
// CHECK-DAG:     arith.constant dense<[0.000000e+00, -3.38953139E+38, 0xFF800000, 1.000000e+00]> : tensor<4xf32>
// CHECK-DAG:     arith.constant 3.38953139E+38 : f32
// CHECK-NOT:     3.40282347E+38
// CHECK:         return
func.func @masked(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = arith.constant dense<[0.0, -3.40282347E+38, 0xFF800000, 1.0]> : tensor<4xf32>
  %c = arith.constant 3.40282347E+38 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d1)>, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f32, %mask: f32, %out: f32):
    %s = arith.addf %in, %mask : f32
    %t = arith.minimumf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
