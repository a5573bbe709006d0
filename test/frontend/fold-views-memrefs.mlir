// What works on memrefs, and makes no values, reads nothing through views: it is left for others to refuse.
// RUN: npuflow-opt %s --npuflow-fold-views | filecheck %s
// RUN: not npuflow-opt %s --npuflow-stream-k 2>&1 | filecheck %s --check-prefix=REFUSED

// CHECK-LABEL: func.func @sum
// CHECK:         linalg.generic
// REFUSED: fold-views-memrefs.mlir:[[# @LINE + 2]]:3: error: linalg.generic works on memrefs (memref<8x4xf32>); hint: give the program on tensors
func.func @sum(%a: memref<8x4xf32>, %b: memref<8x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x4xf32>) outs(%b : memref<8x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}
