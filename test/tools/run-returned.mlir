// Functions may return what they are given, as it is or reshaped, and constants: the array then has nothing to do.
// RUN: npuflow run %s --device=toy | filecheck %s

// CHECK:      @given(4x16xf32, 3xi8) -> (3xi8, 4x16xf32, 3xi8) on toy
// CHECK:      rate        no kernel multiplies and accumulates
// CHECK:      verified    bit-exact, against IREE
func.func @given(%a: tensor<4x16xf32>, %b: tensor<3xi8>) -> (tensor<3xi8>, tensor<4x16xf32>, tensor<3xi8>) {
  return %b, %a, %b : tensor<3xi8>, tensor<4x16xf32>, tensor<3xi8>
}

// CHECK:      @reshaped(12xi8) -> (3x4xi8) on toy
// CHECK:      verified    bit-exact, against IREE
func.func @reshaped(%a: tensor<12xi8>) -> tensor<3x4xi8> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [3, 4] : tensor<12xi8> into tensor<3x4xi8>
  return %0 : tensor<3x4xi8>
}

// CHECK:      @constants(16xi32) -> (16xi32, 16xi32, 4x4xi32, 16xi32) on toy
// CHECK:      verified    bit-exact, against IREE
func.func @constants(%a: tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<4x4xi32>, tensor<16xi32>) {
  %seven = arith.constant 7 : i32
  %e = tensor.empty() : tensor<16xi32>
  %f = linalg.fill ins(%seven : i32) outs(%e : tensor<16xi32>) -> tensor<16xi32>
  %r = linalg.add ins(%a, %f : tensor<16xi32>, tensor<16xi32>) outs(%e : tensor<16xi32>) -> tensor<16xi32>
  %x = tensor.expand_shape %f [[0, 1]] output_shape [4, 4] : tensor<16xi32> into tensor<4x4xi32>
  return %f, %r, %x, %a : tensor<16xi32>, tensor<16xi32>, tensor<4x4xi32>, tensor<16xi32>
}
