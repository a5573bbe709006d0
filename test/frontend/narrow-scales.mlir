// Integers are scaled by numbers of bf16, unless a function returns what that makes.
// RUN: npuflow-opt %s --npuflow-narrow-scales --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-narrow-scales -o %t
// RUN: npuflow run %t --device=toy | filecheck %s --check-prefix=EXECUTED
// EXECUTED-COUNT-2: verified {{.*}}against

#same = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// i8 is bf16 as it is, i32 is rounded; 1.01 is 1.0078125.
// CHECK-LABEL: func.func @both
// CHECK:         %[[SCALES:.*]] = arith.constant dense<[1.000000e+00, 1.007{{[0-9]*}}e+00]> : tensor<2xbf16>
// CHECK:         linalg.generic {{.*}} ins(%arg0, %[[SCALES]], %arg1 : tensor<4x2xi32>, tensor<2xbf16>, tensor<4x2xi8>)
// CHECK-NEXT:    ^bb0(%[[X:[^:]*]]: i32, %[[C:[^:]*]]: bf16, %[[Y:[^:]*]]: i8, %{{.*}}: f32):
// CHECK:           %[[F:.*]] = arith.sitofp %[[X]] : i32 to f32
// CHECK:           %[[WC:.*]] = arith.extf %[[C]] : bf16 to f32
// CHECK:           %[[N:.*]] = arith.truncf %[[F]] : f32 to bf16
// CHECK:           %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
// CHECK:           arith.mulf %[[W]], %[[WC]] : f32
// CHECK:           arith.sitofp %[[Y]] : i8 to bf16
// CHECK:           arith.mulf
// CHECK:           arith.addf
func.func @both(%x: tensor<4x2xi32>, %y: tensor<4x2xi8>) -> tensor<4x2xi8> {
  %scales = arith.constant dense<[1.0, 1.01]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %i = tensor.empty() : tensor<4x2xi8>
  %a = linalg.generic {indexing_maps = [#same, #column, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %scales, %y : tensor<4x2xi32>, tensor<2xf32>, tensor<4x2xi8>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %c: f32, %t: i8, %o: f32):
    %tenth = arith.constant 0.1 : f32
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %c : f32
    %g = arith.sitofp %t : i8 to f32
    %q = arith.mulf %g, %tenth : f32
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x2xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xf32>) outs(%i : tensor<4x2xi8>) {
  ^bb0(%s: f32, %o: i8):
    %low = arith.constant -127.0 : f32
    %high = arith.constant 127.0 : f32
    %f = math.roundeven %s : f32
    %m = arith.maximumf %f, %low : f32
    %l = arith.minimumf %m, %high : f32
    %k = arith.fptosi %l : f32 to i8
    linalg.yield %k : i8
  } -> tensor<4x2xi8>
  return %q : tensor<4x2xi8>
}

// CHECK-LABEL: func.func @returned
// CHECK-NOT:     bf16
// CHECK:         return
func.func @returned(%x: tensor<4x2xi32>) -> tensor<4x2xf32> {
  %e = tensor.empty() : tensor<4x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xi32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %o: f32):
    %half = arith.constant 0.3 : f32
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %half : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  return %a : tensor<4x2xf32>
}
