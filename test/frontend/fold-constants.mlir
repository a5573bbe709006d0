// What is computed from constants alone is a constant; what would be larger than they are stays an op.
// RUN: npuflow-opt %s --npuflow-fold-constants --mlir-print-local-scope | filecheck %s
// RUN: npuflow run %s --device=toy | filecheck %s --check-prefix=RIGHT

// RIGHT-COUNT-4: verified    {{(bit-exact|max error)}}

#same = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @root
// CHECK:         arith.constant dense<[1.000000e+00, 5.000000e-01, 2.500000e-01]> : tensor<3xf32>
// CHECK-NOT:     math.rsqrt
func.func @root(%x: tensor<3xf32>) -> tensor<3xf32> {
  %v = arith.constant dense<[1.0, 4.0, 16.0]> : tensor<3xf32>
  %e = tensor.empty() : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%v : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %root = math.rsqrt %in : f32
    linalg.yield %root : f32
  } -> tensor<3xf32>
  %y = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]} ins(%x, %r : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// A kernel that is read backwards, as transposed convolutions do.
// CHECK-LABEL: func.func @flipped
// CHECK:         arith.constant dense<{{\[\[}}3, 2, 1], [6, 5, 4]]> : tensor<2x3xi8>
// CHECK-NOT:     tensor.extract
func.func @flipped() -> tensor<2x3xi8> {
  %k = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %two = arith.constant 2 : index
  %e = tensor.empty() : tensor<2x3xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x3xi8>) {
  ^bb0(%out: i8):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %back = arith.subi %two, %j : index
    %x = tensor.extract %k[%i, %back] : tensor<2x3xi8>
    linalg.yield %x : i8
  } -> tensor<2x3xi8>
  return %r : tensor<2x3xi8>
}

// CHECK-LABEL: func.func @larger
// CHECK:         arith.addi
func.func @larger() -> tensor<4x3xi32> {
  %a = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %b = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %e = tensor.empty() : tensor<4x3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4xi32>, tensor<3xi32>) outs(%e : tensor<4x3xi32>) {
  ^bb0(%p: i32, %q: i32, %out: i32):
    %s = arith.addi %p, %q : i32
    linalg.yield %s : i32
  } -> tensor<4x3xi32>
  return %r : tensor<4x3xi32>
}

// A number without dimensions, as PyTorch's `lerp` compares its weight, stays one.
// CHECK-LABEL: func.func @weight
// CHECK:         arith.constant dense<false> : tensor<i1>
// CHECK-NOT:     arith.cmpf
func.func @weight(%x: tensor<3xf32>) -> tensor<3xf32> {
  %w = arith.constant dense<0.3> : tensor<f32>
  %half = arith.constant 0.5 : f32
  %e0 = tensor.empty() : tensor<i1>
  %is_large = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%w : tensor<f32>) outs(%e0 : tensor<i1>) {
  ^bb0(%in: f32, %out: i1):
    %c = arith.cmpf oge, %in, %half : f32
    linalg.yield %c : i1
  } -> tensor<i1>
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, #same, #same], iterator_types = ["parallel"]} ins(%is_large, %x : tensor<i1>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%b: i1, %a: f32, %out: f32):
    %m = arith.mulf %a, %a : f32
    %s = arith.select %b, %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}
