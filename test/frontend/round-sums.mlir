// Of two sums of products with one op behind them, what that op rounds is rounded where it is made.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right: @gate{{.*}}@both{{.*}}@alone

// CHECK-LABEL: func.func @gate
// CHECK:         %[[G:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[G]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xbf16>)
// CHECK:           arith.truncf
// CHECK:         %[[U:.*]] = linalg.matmul
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

// Where both are rounded, the op is behind the last one.
// CHECK-LABEL: func.func @both
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK:         %[[N:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xbf16>)
// CHECK:         %[[B:.*]] = linalg.matmul
// CHECK:         linalg.generic {{.*}} ins(%[[N]], %[[B]] : tensor<8x32xbf16>, tensor<8x32xf32>)
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
