// Contractions in more dimensions than they need become matmuls, with their fill and their tail.
// RUN: npuflow-opt %s --npuflow-generalize-operators --npuflow-collapse-contractions --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline="npuflow-generalize-operators,npuflow-collapse-contractions" | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right: @nhwc{{.*}}@nchw{{.*}}@rows{{.*}}@batch

// CHECK-LABEL: func.func @nhwc
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x5x7x16xi8>, %[[W:[^:]*]]: tensor<1x1x16x8xi8>, %[[B:[^:]*]]: tensor<8xi32>
// CHECK-DAG:     %[[X2:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1, 2], [3]] : tensor<2x5x7x16xi8> into tensor<70x16xi8>
// CHECK-DAG:     %[[W2:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0, 1, 2], [3]] : tensor<1x1x16x8xi8> into tensor<16x8xi8>
// CHECK:         %[[F:.*]] = linalg.fill {{.*}} -> tensor<70x8xi32>
// CHECK-NEXT:    %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:      ins(%[[X2]], %[[W2]] : {{.*}}) outs(%[[F]] :
// CHECK:         %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[R]], %[[B]] :
// CHECK:         tensor.expand_shape %[[T]] {{\[\[}}0, 1, 2], [3]]
// CHECK-NOT:     tensor.collapse_shape
func.func @nhwc(%x: tensor<2x5x7x16xi8>, %w: tensor<1x1x16x8xi8>, %b: tensor<8xi32>) -> tensor<2x5x7x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x5x7x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<2x5x7x8xi32>) -> tensor<2x5x7x8xi32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x5x7x16xi8>, tensor<1x1x16x8xi8>) outs(%f : tensor<2x5x7x8xi32>) -> tensor<2x5x7x8xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r, %b : tensor<2x5x7x8xi32>, tensor<8xi32>) outs(%e : tensor<2x5x7x8xi32>) {
  ^bb0(%in: i32, %bias: i32, %out: i32):
    %s = arith.addi %in, %bias : i32
    linalg.yield %s : i32
  } -> tensor<2x5x7x8xi32>
  return %t : tensor<2x5x7x8xi32>
}

// Channels come first in the output, so that the weights are the left operand.
// CHECK-LABEL: func.func @nchw
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x16x7x9xf32>, %[[W:[^:]*]]: tensor<8x16x1x1xf32>, %[[C:[^:]*]]: tensor<1x8x7x9xf32>
// CHECK-DAG:     %[[W2:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0], [1, 2, 3]]
// CHECK-DAG:     %[[X2:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2, 3]]
// CHECK-DAG:     %[[C2:.*]] = tensor.collapse_shape %[[C]] {{\[\[}}0, 1], [2, 3]]
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
// CHECK-SAME:      ins(%[[W2]], %[[X2]] : tensor<8x16xf32>, tensor<16x63xf32>) outs(%[[C2]] :
// CHECK:         tensor.expand_shape %[[R]]
func.func @nchw(%x: tensor<1x16x7x9xf32>, %w: tensor<8x16x1x1xf32>, %c: tensor<1x8x7x9xf32>) -> tensor<1x8x7x9xf32> {
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x7x9xf32>, tensor<8x16x1x1xf32>) outs(%c : tensor<1x8x7x9xf32>) -> tensor<1x8x7x9xf32>
  return %r : tensor<1x8x7x9xf32>
}

// A residual per column of pixels needs the pixels' loops apart: the sum is collapsed, what is behind it isn't.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[E:.*]] = tensor.expand_shape %{{.*}} : tensor<35x8xi32> into tensor<1x5x7x8xi32>
// CHECK:         linalg.generic {{.*}} ins(%[[E]], %{{.*}} : tensor<1x5x7x8xi32>, tensor<7x8xi32>)
func.func @rows(%x: tensor<1x5x7x16xi8>, %w: tensor<1x1x16x8xi8>, %c: tensor<1x5x7x8xi32>, %v: tensor<7x8xi32>) -> tensor<1x5x7x8xi32> {
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x5x7x16xi8>, tensor<1x1x16x8xi8>) outs(%c : tensor<1x5x7x8xi32>) -> tensor<1x5x7x8xi32>
  %e = tensor.empty() : tensor<1x5x7x8xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (w, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%r, %v : tensor<1x5x7x8xi32>, tensor<7x8xi32>) outs(%e : tensor<1x5x7x8xi32>) {
  ^bb0(%in: i32, %y: i32, %out: i32):
    %s = arith.addi %in, %y : i32
    linalg.yield %s : i32
  } -> tensor<1x5x7x8xi32>
  return %t : tensor<1x5x7x8xi32>
}

// Groups of a 1x1 convolution are batch loops; two reductions side by side are one.
// CHECK-LABEL: func.func @batch
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%{{[^,]*}}, %{{.*}} : tensor<3x4x10xf32>, tensor<3x10x6xf32>)
func.func @batch(%a: tensor<3x4x2x5xf32>, %b: tensor<3x2x5x6xf32>, %c: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, p, q) -> (b, m, p, q)>, affine_map<(b, m, n, p, q) -> (b, p, q, n)>, affine_map<(b, m, n, p, q) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<3x4x2x5xf32>, tensor<3x2x5x6xf32>) outs(%c : tensor<3x4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4x6xf32>
  return %r : tensor<3x4x6xf32>
}

// What is no matmul stays: a window, a stride, a batch of images with channels first, a matvec, a zero point.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         return
func.func @others(%x: tensor<1x7x7x4xi8>, %w: tensor<3x3x4x4xi8>, %c: tensor<1x5x5x4xi32>, %u: tensor<1x1x4x4xi8>, %d: tensor<1x4x4x4xi32>,
    %n: tensor<2x4x5x5xi8>, %p: tensor<4x4x1x1xi8>, %q: tensor<2x4x5x5xi32>, %a: tensor<4x4xi8>, %v: tensor<4xi8>, %y: tensor<4xi32>, %o: tensor<1x7x7x4xi32>)
    -> (tensor<1x5x5x4xi32>, tensor<1x4x4x4xi32>, tensor<2x4x5x5xi32>, tensor<4xi32>, tensor<1x7x7x4xi32>) {
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x7x7x4xi8>, tensor<3x3x4x4xi8>) outs(%c : tensor<1x5x5x4xi32>) -> tensor<1x5x5x4xi32>
  %s = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%x, %u : tensor<1x7x7x4xi8>, tensor<1x1x4x4xi8>) outs(%d : tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi32>
  %t = linalg.conv_2d_nchw_fchw ins(%n, %p : tensor<2x4x5x5xi8>, tensor<4x4x1x1xi8>) outs(%q : tensor<2x4x5x5xi32>) -> tensor<2x4x5x5xi32>
  %z = linalg.matvec ins(%a, %v : tensor<4x4xi8>, tensor<4xi8>) outs(%y : tensor<4xi32>) -> tensor<4xi32>
  %five = arith.constant 5 : i32
  %k = linalg.conv_2d_nhwc_hwcf_q ins(%x, %u, %five, %five : tensor<1x7x7x4xi8>, tensor<1x1x4x4xi8>, i32, i32) outs(%o : tensor<1x7x7x4xi32>) -> tensor<1x7x7x4xi32>
  return %r, %s, %t, %z, %k : tensor<1x5x5x4xi32>, tensor<1x4x4x4xi32>, tensor<2x4x5x5xi32>, tensor<4xi32>, tensor<1x7x7x4xi32>
}

// One window that fills its padded image would be a matmul, but for the padding, which only a bundle folds into its way in.
// CHECK-LABEL: func.func @padded
// CHECK:         %[[PAD:.*]] = tensor.pad
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         linalg.generic {{.*}}ins(%[[PAD]], %{{.*}} : tensor<3x4x1x8xi16>, tensor<4x1x8x32xi16>)
func.func @padded(%x: tensor<3x1x1x8xi16>, %w: tensor<4x1x8x32xi16>, %f: tensor<3x1x1x32xi32>) -> tensor<3x1x1x32xi32> {
  %zero = arith.constant 0 : i16
  %p = tensor.pad %x low[0, 3, 0, 0] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i16
  } : tensor<3x1x1x8xi16> to tensor<3x4x1x8xi16>
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, kh, kw, c) -> (n, h + kh, w + kw, c)>, affine_map<(n, h, w, f, kh, kw, c) -> (kh, kw, c, f)>, affine_map<(n, h, w, f, kh, kw, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %w : tensor<3x4x1x8xi16>, tensor<4x1x8x32xi16>) outs(%f : tensor<3x1x1x32xi32>) {
  ^bb0(%a: i16, %b: i16, %s: i32):
    %1 = arith.extsi %a : i16 to i32
    %2 = arith.extsi %b : i16 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %s, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<3x1x1x32xi32>
  return %r : tensor<3x1x1x32xi32>
}

// What the matrix engine may do with a line of pixels, it may do with them as rows.
// CHECK-LABEL: func.func @marked
// CHECK:         linalg.generic {{.*}}tensor<64x16xi8>, tensor<16x32xi8>){{.*}}attrs = {npu.reshaped}
func.func @marked(%x: tensor<1x8x8x16xi8>, %w: tensor<16x32xi8>, %f: tensor<1x8x8x32xi32>) -> tensor<1x8x8x32xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, c) -> (n, h, w, c)>, affine_map<(n, h, w, f, c) -> (c, f)>, affine_map<(n, h, w, f, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1x8x8x16xi8>, tensor<16x32xi8>) outs(%f : tensor<1x8x8x32xi32>) attrs = {npu.reshaped} {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %1 = arith.extsi %a : i8 to i32
    %2 = arith.extsi %b : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %s, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<1x8x8x32xi32>
  return %r : tensor<1x8x8x32xi32>
}

// No matmul, as rows lie between what is summed along; what of that lies side by side in both factors is one loop.
// CHECK-LABEL: func.func @heads
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x8x4xf32>, %[[W:[^:]*]]: tensor<5x2x3x4xf32>
// CHECK-DAG:     %[[X2:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2], [3]] : tensor<2x3x8x4xf32> into tensor<6x8x4xf32>
// CHECK-DAG:     %[[W2:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0], [1, 2], [3]] : tensor<5x2x3x4xf32> into tensor<5x6x4xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>],
// CHECK-SAME:      ins(%[[X2]], %[[W2]] :
func.func @heads(%x: tensor<2x3x8x4xf32>, %w: tensor<5x2x3x4xf32>, %c: tensor<8x5xf32>) -> tensor<8x5xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, g, h, k) -> (g, h, m, k)>, affine_map<(m, n, g, h, k) -> (n, g, h, k)>, affine_map<(m, n, g, h, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x3x8x4xf32>, tensor<5x2x3x4xf32>) outs(%c : tensor<8x5xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %a = arith.mulf %p, %q : f32
    %b = arith.addf %s, %a : f32
    linalg.yield %b : f32
  } -> tensor<8x5xf32>
  return %r : tensor<8x5xf32>
}

// A tail that multiplies and adds is no sum of products; it goes along with the one in front of it.
// CHECK-LABEL: func.func @scaled
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<24x8xf32>, tensor<8x5xf32>)
// CHECK:         linalg.generic {{.*}}"parallel", "parallel"]} ins(%{{.*}} : tensor<24x5xf32>, tensor<24x5xf32>)
func.func @scaled(%x: tensor<4x6x8xf32>, %w: tensor<8x5xf32>, %y: tensor<4x6x5xf32>) -> tensor<4x6x5xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4x6x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6x5xf32>) -> tensor<4x6x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x6x8xf32>, tensor<8x5xf32>) outs(%f : tensor<4x6x5xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %a = arith.mulf %p, %q : f32
    %b = arith.addf %s, %a : f32
    linalg.yield %b : f32
  } -> tensor<4x6x5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %y : tensor<4x6x5xf32>, tensor<4x6x5xf32>) outs(%e : tensor<4x6x5xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %a = arith.mulf %p, %two : f32
    %b = arith.addf %q, %a : f32
    linalg.yield %b : f32
  } -> tensor<4x6x5xf32>
  return %t : tensor<4x6x5xf32>
}

// What makes a larger factor goes along, and can be computed in L1; what makes a smaller one is made once, in front.
// CHECK-LABEL: func.func @extended
// CHECK:         %[[V:[a-z_0-9]+]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1], [2], [3]] : tensor<2x4x32x8xbf16> into tensor<8x32x8xbf16>
// CHECK:         %[[X:[0-9]+]] = linalg.generic {{.*}} ins(%[[V]] : tensor<8x32x8xbf16>) outs({{.*}} : tensor<8x32x8xf32>)
// CHECK:         linalg.generic {{.*}} ins({{.*}}, %[[X]] : tensor<8x6x32xf32>, tensor<8x32x8xf32>)
func.func @extended(%p: tensor<2x4x2x3x32xf32>, %v: tensor<2x4x32x8xbf16>, %s: tensor<2x4x2x3x8xf32>) -> tensor<2x4x2x3x8xf32> {
  %e = tensor.empty() : tensor<2x4x32x8xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v : tensor<2x4x32x8xbf16>) outs(%e : tensor<2x4x32x8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %y = arith.extf %a : bf16 to f32
    linalg.yield %y : f32
  } -> tensor<2x4x32x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, g, m, n, k) -> (a, b, g, m, k)>, affine_map<(a, b, g, m, n, k) -> (a, b, k, n)>, affine_map<(a, b, g, m, n, k) -> (a, b, g, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %x : tensor<2x4x2x3x32xf32>, tensor<2x4x32x8xf32>) outs(%s : tensor<2x4x2x3x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.mulf %a, %b : f32
    %t = arith.addf %o, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x4x2x3x8xf32>
  return %r : tensor<2x4x2x3x8xf32>
}

// CHECK-LABEL: func.func @rounded
// CHECK:         %[[X:[0-9]+]] = linalg.generic {{.*}} outs({{.*}} : tensor<2x4x32x8xbf16>)
// CHECK:         tensor.collapse_shape %[[X]] {{.*}} tensor<2x4x32x8xbf16>
func.func @rounded(%p: tensor<2x4x2x3x32xbf16>, %v: tensor<2x4x32x8xf32>, %s: tensor<2x4x2x3x8xf32>) -> tensor<2x4x2x3x8xf32> {
  %e = tensor.empty() : tensor<2x4x32x8xbf16>
  %x = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v : tensor<2x4x32x8xf32>) outs(%e : tensor<2x4x32x8xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %y = arith.truncf %a : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<2x4x32x8xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, g, m, n, k) -> (a, b, g, m, k)>, affine_map<(a, b, g, m, n, k) -> (a, b, k, n)>, affine_map<(a, b, g, m, n, k) -> (a, b, g, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %x : tensor<2x4x2x3x32xbf16>, tensor<2x4x32x8xbf16>) outs(%s : tensor<2x4x2x3x8xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: f32):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %q = arith.mulf %a1, %b1 : f32
    %t = arith.addf %o, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x4x2x3x8xf32>
  return %r : tensor<2x4x2x3x8xf32>
}

// What repeats the sums, as a gate of each channel for all its pixels, has loops that they haven't, and stays as it is.
// CHECK-LABEL: func.func @repeated
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x16xi8>, tensor<64x16xi8>) outs(%{{.*}} : tensor<2x64xi32>)
// CHECK:         linalg.generic {{.*}} ins(%arg3, %{{.*}} : tensor<2x64x7x7xi32>, tensor<2x64x1x1xi32>) outs(%{{.*}} : tensor<2x64x7x7xi32>)
func.func @repeated(%x: tensor<2x16x1x1xi8>, %w: tensor<64x16x1x1xi8>, %s: tensor<2x64x1x1xi32>, %image: tensor<2x64x7x7xi32>) -> tensor<2x64x7x7xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b, o, h, w, k, i, j) -> (b, k, h + i, w + j)>, affine_map<(b, o, h, w, k, i, j) -> (o, k, i, j)>, affine_map<(b, o, h, w, k, i, j) -> (b, o, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<2x16x1x1xi8>, tensor<64x16x1x1xi8>) outs(%s : tensor<2x64x1x1xi32>) {
  ^bb0(%a: i8, %b: i8, %c: i32):
    %a32 = arith.extsi %a : i8 to i32
    %b32 = arith.extsi %b : i8 to i32
    %p = arith.muli %a32, %b32 : i32
    %t = arith.addi %c, %p : i32
    linalg.yield %t : i32
  } -> tensor<2x64x1x1xi32>
  %e = tensor.empty() : tensor<2x64x7x7xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, c, h, w) -> (b, c, h, w)>, affine_map<(b, c, h, w) -> (b, c, 0, 0)>, affine_map<(b, c, h, w) -> (b, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%image, %r : tensor<2x64x7x7xi32>, tensor<2x64x1x1xi32>) outs(%e : tensor<2x64x7x7xi32>) {
  ^bb0(%a: i32, %g: i32, %o: i32):
    %p = arith.muli %a, %g : i32
    linalg.yield %p : i32
  } -> tensor<2x64x7x7xi32>
  return %t : tensor<2x64x7x7xi32>
}
