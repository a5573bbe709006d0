// A matmul whose sum is cut off at once sums up in that type; what else is made of the sum, or begins elsewhere, stays.
// RUN: npuflow-opt %s --npuflow-normalize-linalg --npuflow-narrow-sums | filecheck %s
// RUN: npuflow-opt %s --npuflow-normalize-linalg | filecheck %s --check-prefix=BITS
// RUN: npuflow verify %s --pipeline=npuflow-normalize-linalg --function=wide_sum_of_bytes | filecheck %s --check-prefix=RIGHT
// RIGHT: right: @wide_sum_of_bytes

// CHECK-LABEL: func.func @cut_off
// CHECK:         linalg.fill {{.*}} outs({{.*}} : tensor<16x8xbf16>)
// CHECK:         linalg.generic {{.*}} outs({{.*}} : tensor<16x8xbf16>)
// CHECK:           arith.mulf {{.*}} : bf16
// CHECK:           arith.addf {{.*}} : bf16
// CHECK-NOT:     arith.truncf
func.func @cut_off(%a: tensor<16x32xbf16>, %b: tensor<32x8xbf16>) -> tensor<16x8xbf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xbf16>, tensor<32x8xbf16>) outs(%fill : tensor<16x8xf32>) -> tensor<16x8xf32>
  %t = arith.truncf %r : tensor<16x8xf32> to tensor<16x8xbf16>
  return %t : tensor<16x8xbf16>
}

// CHECK-LABEL: func.func @integers
// CHECK:           arith.extsi {{.*}} : i8 to i16
// CHECK:           arith.muli {{.*}} : i16
// CHECK-NOT:     arith.trunci
func.func @integers(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>) -> tensor<16x8xi16> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x8xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x8xi32>) -> tensor<16x8xi32>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi8>, tensor<32x8xi8>) outs(%fill : tensor<16x8xi32>) -> tensor<16x8xi32>
  %t = arith.trunci %r : tensor<16x8xi32> to tensor<16x8xi16>
  return %t : tensor<16x8xi16>
}

// A ReLU reads the whole sum.
// CHECK-LABEL: func.func @more
// CHECK:         arith.maxsi {{.*}} : i32
// CHECK:         arith.trunci
func.func @more(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>) -> tensor<16x8xi8> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x8xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x8xi32>) -> tensor<16x8xi32>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi8>, tensor<32x8xi8>) outs(%fill : tensor<16x8xi32>) -> tensor<16x8xi32>
  %s = arith.maxsi %r, %fill : tensor<16x8xi32>
  %t = arith.trunci %s : tensor<16x8xi32> to tensor<16x8xi8>
  return %t : tensor<16x8xi8>
}

// CHECK-LABEL: func.func @continued
// CHECK:         arith.truncf
func.func @continued(%a: tensor<16x32xbf16>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>) -> tensor<16x8xbf16> {
  %r = linalg.matmul ins(%a, %b : tensor<16x32xbf16>, tensor<32x8xbf16>) outs(%c : tensor<16x8xf32>) -> tensor<16x8xf32>
  %t = arith.truncf %r : tensor<16x8xf32> to tensor<16x8xbf16>
  return %t : tensor<16x8xbf16>
}

// Factors that are wider than the result would be cut off before they are multiplied.
// CHECK-LABEL: func.func @wide_factors
// CHECK:         arith.trunci
func.func @wide_factors(%a: tensor<16x32xi16>, %b: tensor<32x8xi16>) -> tensor<16x8xi8> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x8xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x8xi32>) -> tensor<16x8xi32>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi16>, tensor<32x8xi16>) outs(%fill : tensor<16x8xi32>) -> tensor<16x8xi32>
  %t = arith.trunci %r : tensor<16x8xi32> to tensor<16x8xi8>
  return %t : tensor<16x8xi8>
}

// With `bits`, sums of integers of more bits alone, as PyTorch has them: exact, whatever they are cut off to.
// BITS-LABEL: func.func @wide_sum
// BITS:           arith.muli {{.*}} : i32
// BITS:           arith.addi {{.*}} : i32
// BITS-NOT:     arith.trunci
// BITS:         return
func.func @wide_sum(%a: tensor<16x32xi32>, %b: tensor<32x8xi32>) -> tensor<16x8xi32> {
  %zero = arith.constant 0 : i64
  %empty = tensor.empty() : tensor<16x8xi64>
  %fill = linalg.fill ins(%zero : i64) outs(%empty : tensor<16x8xi64>) -> tensor<16x8xi64>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi32>, tensor<32x8xi32>) outs(%fill : tensor<16x8xi64>) -> tensor<16x8xi64>
  %t = arith.trunci %r : tensor<16x8xi64> to tensor<16x8xi32>
  return %t : tensor<16x8xi32>
}

// BITS-LABEL: func.func @wide_sum_of_bytes
// BITS:         linalg.generic {{.*}} : tensor<16x32xi8>, tensor<32x8xi8>) outs({{.*}} : tensor<16x8xi32>)
// BITS:         arith.trunci {{.*}} : i32 to i8
func.func @wide_sum_of_bytes(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>) -> tensor<16x8xi8> {
  %zero = arith.constant 0 : i64
  %empty = tensor.empty() : tensor<16x8xi64>
  %fill = linalg.fill ins(%zero : i64) outs(%empty : tensor<16x8xi64>) -> tensor<16x8xi64>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi8>, tensor<32x8xi8>) outs(%fill : tensor<16x8xi64>) -> tensor<16x8xi64>
  %t = arith.trunci %r : tensor<16x8xi64> to tensor<16x8xi8>
  return %t : tensor<16x8xi8>
}

// BITS-LABEL: func.func @kept_wide
// BITS:         linalg.matmul {{.*}} -> tensor<16x8xi64>
func.func @kept_wide(%a: tensor<16x32xi32>, %b: tensor<32x8xi32>) -> tensor<16x8xi64> {
  %zero = arith.constant 0 : i64
  %empty = tensor.empty() : tensor<16x8xi64>
  %fill = linalg.fill ins(%zero : i64) outs(%empty : tensor<16x8xi64>) -> tensor<16x8xi64>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xi32>, tensor<32x8xi32>) outs(%fill : tensor<16x8xi64>) -> tensor<16x8xi64>
  return %r : tensor<16x8xi64>
}
