// Selecting the greater of a number and a constant is taking the greater one, where NaNs and zeros stay what they are.
// RUN: npuflow-opt %s --npuflow-find-greatest --mlir-print-local-scope | filecheck %s
// RUN: npuflow verify %s --pipeline=npuflow-find-greatest | filecheck %s --check-prefix=RIGHT

// RIGHT-NOT: wrong
// RIGHT:     right:

#id = affine_map<(d0) -> (d0)>

// A ReLU, and a cut at 6 from above.
// CHECK-LABEL: func.func @cut
// CHECK:         ^bb0(%[[A:[^:]*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[M:.*]] = arith.maximumf %[[A]], %{{.*}} : f32
// CHECK-NEXT:      %[[N:.*]] = arith.minimumf %[[M]], %{{.*}} : f32
// CHECK-NEXT:      linalg.yield %[[N]]
func.func @cut(%x: tensor<64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ugt, %a, %zero : f32
    %s = arith.select %c, %a, %zero : f32
    %d = arith.cmpf ult, %s, %six : f32
    %t = arith.select %d, %s, %six : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// By `olt` NaN becomes 6.
// CHECK-LABEL: func.func @cut_numbers
// CHECK:         ^bb0(%[[A:[^:]*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      arith.minnumf %[[A]], %{{.*}} : f32
func.func @cut_numbers(%x: tensor<64xf32>) -> tensor<64xf32> {
  %six = arith.constant 6.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %d = arith.cmpf olt, %a, %six : f32
    %t = arith.select %d, %a, %six : f32
    linalg.yield %t : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// `ogt` makes 0 of NaN, where a `maxnumf` may take a 0 of either sign, the smaller of 0.0 and -0.0 would be -0.0 here, and by `uge` -0.0 stays -0.0.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: arith.select
// CHECK-NOT:     imumf
// CHECK:         return
func.func @stays(%x: tensor<64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ogt, %a, %zero : f32
    %s = arith.select %c, %a, %zero : f32
    %d = arith.cmpf ult, %a, %zero : f32
    %t = arith.select %d, %a, %zero : f32
    %f = arith.cmpf uge, %a, %zero : f32
    %u = arith.select %f, %a, %zero : f32
    %v = arith.addf %s, %t : f32
    %w = arith.addf %v, %u : f32
    linalg.yield %w : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// What is rounded behind a ReLU is never below -127, also where that is another op's; behind a subtraction it may be.
// CHECK-LABEL: func.func @clamped
// CHECK:         arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK:         math.roundeven
// CHECK-NEXT:    %[[M:.*]] = arith.minimumf
// CHECK:         arith.subf
// CHECK-NEXT:    arith.maximumf
func.func @clamped(%x: tensor<64xf32>) -> (tensor<64xi8>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -127.0 : f32
  %high = arith.constant 127.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = tensor.empty() : tensor<64xi8>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ugt, %a, %zero : f32
    %s = arith.select %c, %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : tensor<64xf32>) outs(%f : tensor<64xi8>) {
  ^bb0(%a: f32, %o: i8):
    %n = math.roundeven %a : f32
    %m = arith.maximumf %n, %low : f32
    %l = arith.minimumf %m, %high : f32
    %i = arith.fptosi %l : f32 to i8
    linalg.yield %i : i8
  } -> tensor<64xi8>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%r : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.subf %a, %high : f32
    %m = arith.maximumf %n, %low : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  return %q, %s : tensor<64xi8>, tensor<64xf32>
}
