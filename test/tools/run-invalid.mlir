// A function that hands back what it is given has no schedule, whatever it calls that.
// RUN: not npuflow run %s --device=toy 2>&1 | filecheck %s

// CHECK: run-invalid.mlir:[[# @LINE + 1]]:1: error: @reshaped computes nothing: all that it returns is given or constant; hint: leave it out, or let it compute something
func.func @reshaped(%a: tensor<12xi8>) -> tensor<3x4xi8> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [3, 4] : tensor<12xi8> into tensor<3x4xi8>
  return %0 : tensor<3x4xi8>
}

// CHECK: run-invalid.mlir:[[# @LINE + 1]]:1: error: @zeros computes nothing
func.func @zeros() -> tensor<12xi8> {
  %zero = arith.constant 0 : i8
  %e = tensor.empty() : tensor<12xi8>
  %r = linalg.fill ins(%zero : i8) outs(%e : tensor<12xi8>) -> tensor<12xi8>
  return %r : tensor<12xi8>
}
