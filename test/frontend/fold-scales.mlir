// A tensor that is multiplied by a number has been made of scales, and of what is added, that are multiplied instead.
// RUN: npuflow-opt %s --npuflow-fold-scales --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --npuflow-fold-scales -o %t
// RUN: npuflow run %t --device=toy | filecheck %s --check-prefix=EXECUTED
// EXECUTED-COUNT-7: verified {{.*}}against

#same = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// Sums of i32 with a scale for each column, a bias, a branch of i8, a ReLU: all of it is 4 times as large.
// CHECK-LABEL: func.func @block
// CHECK:         %[[SCALES:.*]] = arith.constant dense<[4.000000e+00, 8.000000e+00]> : tensor<2xf32>
// CHECK:         %[[A:.*]] = linalg.generic {{.*}} ins(%arg0, %[[SCALES]] : {{.*}}npu.scaled = 4.000000e+00 : f64
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<4x2xi8>) {{.*}}npu.scaled = 4.000000e+00 : f64
// CHECK:           %[[HALF:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:           arith.mulf %{{.*}}, %[[HALF]] : f32
// CHECK:         %[[BIAS:.*]] = arith.constant dense<[0.000000e+00, -1.000000e+00]> : tensor<2xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[BIAS]], %[[B]] :
// CHECK:           arith.maximumf
// CHECK:           arith.truncf
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<4x2xi8>)
// CHECK-NOT:       arith.mulf
// CHECK:           math.roundeven
func.func @block(%x: tensor<4x2xi32>, %y: tensor<4x2xi8>) -> tensor<4x2xi8> {
  %scales = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %bias = arith.constant dense<[0.0, -0.25]> : tensor<2xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %n = tensor.empty() : tensor<4x2xbf16>
  %i = tensor.empty() : tensor<4x2xi8>
  %a = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %scales : tensor<4x2xi32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %c: f32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %c : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x2xi8>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i8, %o: f32):
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %s : i8 to f32
    %p = arith.mulf %f, %half : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %r = linalg.generic {indexing_maps = [#same, #column, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %bias, %b : tensor<4x2xf32>, tensor<2xf32>, tensor<4x2xf32>) outs(%n : tensor<4x2xbf16>) {
  ^bb0(%s: f32, %c: f32, %t: f32, %o: bf16):
    %p = arith.addf %s, %c : f32
    %q = arith.addf %p, %t : f32
    %m = arith.maximumf %q, %zero : f32
    %l = arith.truncf %m : f32 to bf16
    linalg.yield %l : bf16
  } -> tensor<4x2xbf16>
  %w = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<4x2xbf16>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: bf16, %o: f32):
    %f = arith.extf %s : bf16 to f32
    linalg.yield %f : f32
  } -> tensor<4x2xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<4x2xf32>) outs(%i : tensor<4x2xi8>) {
  ^bb0(%s: f32, %o: i8):
    %four = arith.constant 4.0 : f32
    %low = arith.constant -127.0 : f32
    %high = arith.constant 127.0 : f32
    %p = arith.mulf %s, %four : f32
    %f = math.roundeven %p : f32
    %m = arith.maximumf %f, %low : f32
    %l = arith.minimumf %m, %high : f32
    %k = arith.fptosi %l : f32 to i8
    linalg.yield %k : i8
  } -> tensor<4x2xi8>
  return %q : tensor<4x2xi8>
}

// Somebody else reads what the integers were.
// CHECK-LABEL: func.func @read_twice
// CHECK-NOT:     npu.scaled
// CHECK:         return
func.func @read_twice(%x: tensor<4x2xi32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %e = tensor.empty() : tensor<4x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xi32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %o: f32):
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %half : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: f32, %o: f32):
    %four = arith.constant 4.0 : f32
    %p = arith.mulf %s, %four : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  return %a, %b : tensor<4x2xf32>, tensor<4x2xf32>
}

// Four times as much isn't what makes the exponential four times as large.
// CHECK-LABEL: func.func @exponential
// CHECK-NOT:     npu.scaled
// CHECK:         return
func.func @exponential(%x: tensor<4x2xi8>) -> tensor<4x2xf32> {
  %e = tensor.empty() : tensor<4x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xi8>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i8, %o: f32):
    %c = arith.constant 0.01 : f32
    %f = arith.sitofp %s : i8 to f32
    %p = arith.mulf %f, %c : f32
    %g = math.exp %p : f32
    linalg.yield %g : f32
  } -> tensor<4x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: f32, %o: f32):
    %four = arith.constant 4.0 : f32
    %p = arith.mulf %s, %four : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  return %b : tensor<4x2xf32>
}

// A number that a tensor of one element holds is one like any other.
// CHECK-LABEL: func.func @held
// CHECK:         %[[SIX:.*]] = arith.constant dense<2.400000e+01> : tensor<f32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[SIX]] : tensor<4x2xf32>, tensor<f32>)
func.func @held(%x: tensor<4x2xi8>) -> tensor<4x2xf32> {
  %six = arith.constant dense<6.0> : tensor<f32>
  %e = tensor.empty() : tensor<4x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xi8>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i8, %o: f32):
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %s : i8 to f32
    %p = arith.mulf %f, %half : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %c = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> ()>, #same], iterator_types = ["parallel", "parallel"]} ins(%a, %six : tensor<4x2xf32>, tensor<f32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: f32, %t: f32, %o: f32):
    %l = arith.cmpf olt, %s, %t : f32
    %m = arith.select %l, %s, %t : f32
    linalg.yield %m : f32
  } -> tensor<4x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: f32, %o: f32):
    %four = arith.constant 4.0 : f32
    %p = arith.mulf %s, %four : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  return %b : tensor<4x2xf32>
}

// What repeats a constant goes on repeating one: what it makes would be as large as all that is added to.
// CHECK-LABEL: func.func @repeated
// CHECK:         %[[BIAS:.*]] = arith.constant dense<[4.000000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK:         %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[BIAS]] : tensor<2xf32>)
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[ROWS]] : tensor<4x2xi8>, tensor<4x2xf32>)
func.func @repeated(%x: tensor<4x2xi8>) -> tensor<4x2xf32> {
  %bias = arith.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %rows = linalg.generic {indexing_maps = [#column, #same], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%c: f32, %o: f32):
    linalg.yield %c : f32
  } -> tensor<4x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %rows : tensor<4x2xi8>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i8, %c: f32, %o: f32):
    %half = arith.constant 0.5 : f32
    %f = arith.sitofp %s : i8 to f32
    %p = arith.mulf %f, %half : f32
    %q = arith.addf %p, %c : f32
    linalg.yield %q : f32
  } -> tensor<4x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: f32, %o: f32):
    %four = arith.constant 4.0 : f32
    %p = arith.mulf %s, %four : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  return %b : tensor<4x2xf32>
}

// A bias that two layers repeat is scaled for each by itself.
// CHECK-LABEL: func.func @shared_bias
// CHECK-DAG:     arith.constant dense<[2.000000e+00, -1.000000e+00]> : tensor<2xf32>
// CHECK-DAG:     arith.constant dense<[4.000000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<4x2xi8>)
// CHECK-NOT:       arith.mulf
// CHECK:           math.roundeven
func.func @shared_bias(%x: tensor<4x2xi32>, %y: tensor<4x2xi32>) -> (tensor<4x2xi8>, tensor<4x2xi8>) {
  %scale = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %bias = arith.constant dense<[0.5, -0.25]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %i = tensor.empty() : tensor<4x2xi8>
  %b = linalg.generic {indexing_maps = [#column, #same], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<4x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #column, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %scale, %b : tensor<4x2xi32>, tensor<2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %c: f32, %t: f32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %c : f32
    %q = arith.addf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<4x2xf32>
  %d = linalg.generic {indexing_maps = [#same, #column, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%y, %scale, %b : tensor<4x2xi32>, tensor<2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %c: f32, %t: f32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %c : f32
    %q = arith.addf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<4x2xf32>
  %k = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x2xf32>) outs(%i : tensor<4x2xi8>) {
  ^bb0(%s: f32, %o: i8):
    %four = arith.constant 4.0 : f32
    %m = arith.mulf %s, %four : f32
    %n = math.roundeven %m : f32
    %r = arith.fptosi %n : f32 to i8
    linalg.yield %r : i8
  } -> tensor<4x2xi8>
  %l = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%d : tensor<4x2xf32>) outs(%i : tensor<4x2xi8>) {
  ^bb0(%s: f32, %o: i8):
    %four = arith.constant 8.0 : f32
    %m = arith.mulf %s, %four : f32
    %n = math.roundeven %m : f32
    %r = arith.fptosi %n : f32 to i8
    linalg.yield %r : i8
  } -> tensor<4x2xi8>
  return %k, %l : tensor<4x2xi8>, tensor<4x2xi8>
}

// A gate is a factor that stays as it is; of a square, both would be multiplied.
// CHECK-LABEL: func.func @gated
// CHECK-DAG:     %[[SCALES:.*]] = arith.constant dense<[4.000000e+00, 8.000000e+00]> : tensor<2xf32>
// CHECK:         %[[A:.*]] = linalg.generic {{.*}} ins(%arg0, %[[SCALES]] : {{.*}}npu.scaled = 4.000000e+00 : f64
// CHECK:         %[[P:.*]] = linalg.generic {{.*}} ins(%arg1, %[[A]] : {{.*}}npu.scaled = 4.000000e+00 : f64
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<4x2xf32>) outs(%{{.*}} : tensor<4x2xi8>)
// CHECK-NOT:       arith.mulf
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<4x2xi32>, tensor<2xf32>)
// CHECK-NOT:     npu.scaled
// CHECK:         return
func.func @gated(%x: tensor<4x2xi32>, %g: tensor<4x2xf32>) -> (tensor<4x2xi8>, tensor<4x2xi8>) {
  %scales = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %i = tensor.empty() : tensor<4x2xi8>
  %a = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %scales : tensor<4x2xi32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %c: f32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    %p = arith.mulf %f, %c : f32
    linalg.yield %p : f32
  } -> tensor<4x2xf32>
  %p = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%g, %a : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: f32, %c: f32, %o: f32):
    %m = arith.mulf %s, %c : f32
    linalg.yield %m : f32
  } -> tensor<4x2xf32>
  %q = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x2xf32>) outs(%i : tensor<4x2xi8>) {
  ^bb0(%s: f32, %o: i8):
    %four = arith.constant 4.0 : f32
    %m = arith.mulf %s, %four : f32
    %r = math.roundeven %m : f32
    %b = arith.fptosi %r : f32 to i8
    linalg.yield %b : i8
  } -> tensor<4x2xi8>
  %b = linalg.generic {indexing_maps = [#same, #column, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %scales : tensor<4x2xi32>, tensor<2xf32>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%s: i32, %c: f32, %o: f32):
    %f = arith.sitofp %s : i32 to f32
    %p2 = arith.mulf %f, %c : f32
    %w = arith.mulf %p2, %p2 : f32
    linalg.yield %w : f32
  } -> tensor<4x2xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4x2xf32>) outs(%i : tensor<4x2xi8>) {
  ^bb0(%s: f32, %o: i8):
    %four = arith.constant 4.0 : f32
    %m = arith.mulf %s, %four : f32
    %n = math.roundeven %m : f32
    %c = arith.fptosi %n : f32 to i8
    linalg.yield %c : i8
  } -> tensor<4x2xi8>
  return %q, %r : tensor<4x2xi8>, tensor<4x2xi8>
}
