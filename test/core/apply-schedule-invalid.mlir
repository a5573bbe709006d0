// RUN: not npuflow-opt %s --npuflow-apply-schedule 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not npuflow-opt %s --npuflow-apply-schedule=file=none.mlir 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not npuflow-opt %s --npuflow-apply-schedule=file=%S/../tools/Inputs/nameless.mlir 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not npuflow-opt %s --npuflow-apply-schedule=file=%S/../tools/Inputs/tile-invalid.mlir 2>&1 | filecheck %s --check-prefix=FAILED
// NONE: apply-schedule-invalid.mlir:1:1: error: the module contains no transform schedule; hint: add one, or give its file
// FILE: apply-schedule-invalid.mlir:1:1: error: transform schedule 'none.mlir' is no file; hint: give the path of a transform-dialect file
// ENTRY: nameless.mlir:1:1: error: the transform schedule has no sequence @__transform_main; hint: name the sequence @__transform_main, or give entry=NAME
// FAILED: tile-invalid.mlir:4:24: error: the transform schedule failed: too many tiles provided, expected at most 3 found 4; hint:
// FAILED-NEXT: transform.structured.tile_using_for
// FAILED-NEXT: ^
// FAILED: apply-schedule-invalid.mlir:14:8: note: target op
func.func @matmul(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %unused = arith.constant 1 : index
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
