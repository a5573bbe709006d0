// Of two sums of products with one op behind them, what that op rounds is rounded where it is made.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right: @gate{{.*}}@narrowest{{.*}}@both{{.*}}@alone{{.*}}@scaled{{.*}}@reshaped{{.*}}@shared

#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @gate
// CHECK:         %[[G:.*]] = linalg.matmul
// CHECK:         %[[U:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[G]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xbf16>)
// CHECK:           arith.truncf
// CHECK:         linalg.generic {{.*}} ins(%[[N]], %[[U]] : tensor<8x32xbf16>, tensor<8x32xf32>)
// CHECK-NOT:     linalg.generic
func.func @gate(%x: tensor<8x16xbf16>, %g: tensor<16x32xbf16>, %u: tensor<16x32xbf16>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.matmul ins(%x, %g : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = linalg.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %n = arith.truncf %a : tensor<8x32xf32> to tensor<8x32xbf16>
  %w = arith.extf %n : tensor<8x32xbf16> to tensor<8x32xf32>
  %s = arith.mulf %w, %w : tensor<8x32xf32>
  %r = arith.mulf %s, %b : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// What is rounded, and made wider again in part, goes to memory as it was narrowest.
// CHECK-LABEL: func.func @narrowest
// CHECK:         %[[G:.*]] = linalg.matmul
// CHECK:         %[[U:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[G]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xi8>)
// CHECK:           arith.fptosi
// CHECK:         linalg.generic {{.*}} ins(%[[N]], %[[U]] : tensor<8x32xi8>, tensor<8x32xf32>)
// CHECK:           arith.sitofp
// CHECK-NOT:     linalg.generic
func.func @narrowest(%x: tensor<8x16xbf16>, %g: tensor<16x32xbf16>, %u: tensor<16x32xbf16>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.matmul ins(%x, %g : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = linalg.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %q = arith.fptosi %a : tensor<8x32xf32> to tensor<8x32xi8>
  %n = arith.sitofp %q : tensor<8x32xi8> to tensor<8x32xbf16>
  %w = arith.extf %n : tensor<8x32xbf16> to tensor<8x32xf32>
  %r = arith.addf %w, %b : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// Where both are rounded, the op is behind the last one.
// CHECK-LABEL: func.func @both
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK:         %[[B:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xbf16>)
// CHECK:         linalg.generic {{.*}} ins(%[[B]], %[[N]] : tensor<8x32xf32>, tensor<8x32xbf16>)
// CHECK-NOT:     linalg.generic
func.func @both(%x: tensor<8x16xbf16>, %g: tensor<16x32xbf16>, %u: tensor<16x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.matmul ins(%x, %g : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = linalg.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %n = arith.truncf %a : tensor<8x32xf32> to tensor<8x32xbf16>
  %m = arith.truncf %b : tensor<8x32xf32> to tensor<8x32xbf16>
  %r = arith.mulf %n, %m : tensor<8x32xbf16>
  return %r : tensor<8x32xbf16>
}

// Behind one sum alone, the rounding is in its tail already.
// CHECK-LABEL: func.func @alone
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %{{.*}} : tensor<8x32xf32>, tensor<8x32xbf16>)
// CHECK-NOT:     linalg.generic
func.func @alone(%x: tensor<8x16xbf16>, %g: tensor<16x32xbf16>, %y: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.matmul ins(%x, %g : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %n = arith.truncf %a : tensor<8x32xf32> to tensor<8x32xbf16>
  %r = arith.mulf %n, %y : tensor<8x32xbf16>
  return %r : tensor<8x32xbf16>
}

// What is computed of the sum alone on the way goes with it.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME:    %[[S:[^:]*]]: tensor<32xf32>)
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK:         %[[B:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[S]] : tensor<8x32xi32>, tensor<32xf32>) outs({{.*}} : tensor<8x32xbf16>)
// CHECK:           arith.sitofp
// CHECK:           arith.mulf
// CHECK:           arith.truncf
// CHECK:         linalg.generic {{.*}} ins(%[[N]], %[[B]], %[[S]] : tensor<8x32xbf16>, tensor<8x32xi32>
// CHECK-NOT:     linalg.generic
func.func @scaled(%x: tensor<8x16xi8>, %w: tensor<16x32xi8>, %v: tensor<16x32xi8>, %s: tensor<32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<8x32xi32>) -> tensor<8x32xi32>
  %a = linalg.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x32xi8>) outs(%f : tensor<8x32xi32>) -> tensor<8x32xi32>
  %b = linalg.matmul ins(%x, %v : tensor<8x16xi8>, tensor<16x32xi8>) outs(%f : tensor<8x32xi32>) -> tensor<8x32xi32>
  %g = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#same, #column, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s, %b : tensor<8x32xi32>, tensor<32xf32>, tensor<8x32xi32>) outs(%g : tensor<8x32xf32>) {
  ^bb0(%i: i32, %c: f32, %j: i32, %o: f32):
    %p = arith.sitofp %i : i32 to f32
    %q = arith.mulf %p, %c : f32
    %n = arith.truncf %q : f32 to bf16
    %t = arith.extf %n : bf16 to f32
    %u = arith.sitofp %j : i32 to f32
    %k = arith.mulf %u, %c : f32
    %d = arith.addf %t, %k : f32
    linalg.yield %d : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// A sum that is reshaped first is rounded in its own shape: the op stays behind the one that has its shape.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME:    %[[S:[^:]*]]: tensor<4xf32>)
// CHECK:         %[[C:.*]] = linalg.generic {{.*}} -> (d3, d1 * 2 + d4, {{.*}} outs({{.*}} : tensor<4x3x3xf32>)
// CHECK:         %[[M:.*]] = linalg.generic {{.*}}, "reduction"]}
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[S]] : tensor<4x3x3xf32>, tensor<4xf32>) outs({{.*}} : tensor<4x3x3xbf16>)
// CHECK:         %[[F:.*]] = tensor.collapse_shape %[[N]] {{.*}} : tensor<4x3x3xbf16> into tensor<4x9xbf16>
// CHECK:         linalg.generic {{.*}} ins(%[[M]], %[[F]] : tensor<4x9xf32>, tensor<4x9xbf16>)
func.func @reshaped(%x: tensor<2x7x7xbf16>, %w: tensor<4x2x3x3xbf16>, %p: tensor<4x8xbf16>, %q: tensor<8x9xbf16>, %s: tensor<4xf32>) -> tensor<4x9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x3x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h * 2 + y, w * 2 + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<2x7x7xbf16>, tensor<4x2x3x3xbf16>) outs(%f : tensor<4x3x3xf32>) {
  ^bb0(%i: bf16, %j: bf16, %o: f32):
    %1 = arith.extf %i : bf16 to f32
    %2 = arith.extf %j : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4x3x3xf32>
  %l = tensor.collapse_shape %c [[0], [1, 2]] : tensor<4x3x3xf32> into tensor<4x9xf32>
  %g = tensor.empty() : tensor<4x9xf32>
  %z = linalg.fill ins(%zero : f32) outs(%g : tensor<4x9xf32>) -> tensor<4x9xf32>
  %m = linalg.matmul ins(%p, %q : tensor<4x8xbf16>, tensor<8x9xbf16>) outs(%z : tensor<4x9xf32>) -> tensor<4x9xf32>
  %r = linalg.generic {indexing_maps = [#same, #row, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%l, %s, %m : tensor<4x9xf32>, tensor<4xf32>, tensor<4x9xf32>) outs(%g : tensor<4x9xf32>) {
  ^bb0(%i: f32, %b: f32, %j: f32, %o: f32):
    %1 = arith.mulf %i, %b : f32
    %2 = arith.truncf %1 : f32 to bf16
    %3 = arith.truncf %j : f32 to bf16
    %4 = arith.mulf %2, %3 : bf16
    %5 = arith.extf %4 : bf16 to f32
    linalg.yield %5 : f32
  } -> tensor<4x9xf32>
  return %r : tensor<4x9xf32>
}

// What is read beside its rounding has to be there as a whole.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK:         %[[B:.*]] = linalg.matmul
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<8x32xf32>, tensor<8x32xf32>)
// CHECK-NOT:     linalg.generic
func.func @shared(%x: tensor<8x16xbf16>, %g: tensor<16x32xbf16>, %u: tensor<16x32xbf16>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.matmul ins(%x, %g : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = linalg.matmul ins(%x, %u : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %n = arith.truncf %i : f32 to bf16
    %w = arith.extf %n : bf16 to f32
    %s = arith.mulf %w, %i : f32
    %t = arith.mulf %s, %j : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
