// Functions that no schedule can stand for: those that return nothing, and those that return what nothing has made.
// RUN: not npuflow run %s --device=toy 2>&1 | filecheck %s

// CHECK: run-invalid.mlir:[[# @LINE + 1]]:1: error: @nothing returns nothing; hint: return what it computes
func.func @nothing(%a: tensor<12xi8>) {
  return
}

// CHECK: run-invalid.mlir:[[# @LINE + 3]]:3: error: func.return reads a tensor.empty, whose elements nothing has made; hint: give it a value first
func.func @empty() -> tensor<12xi8> {
  %e = tensor.empty() : tensor<12xi8>
  return %e : tensor<12xi8>
}

// CHECK: run-invalid.mlir:[[# @LINE + 2]]:8: error: unsupported op func.call; hint: functions are inlined that have a body
func.func @calls_a_public_one(%a: tensor<12xi8>) -> tensor<12xi8> {
  %r = call @mutual(%a) : (tensor<12xi8>) -> tensor<12xi8>
  return %r : tensor<12xi8>
}

// CHECK: run-invalid.mlir:[[# @LINE + 2]]:8: error: unsupported op func.call; hint: functions are inlined that have a body
func.func @mutual(%a: tensor<12xi8>) -> tensor<12xi8> {
  %r = call @calls_a_public_one(%a) : (tensor<12xi8>) -> tensor<12xi8>
  return %r : tensor<12xi8>
}
