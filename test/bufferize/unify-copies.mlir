// Every plain movement is a memref.copy, and a buffer isn't copied onto itself.
// RUN: npuflow-opt %s --npuflow-unify-copies | filecheck %s

// CHECK-LABEL: func.func @copies
// CHECK-SAME:    %[[A:[^:]*]]: memref<4x4xi32>, %[[B:[^:]*]]: memref<4x4xi32, 1>
// CHECK-NEXT:    memref.copy %[[A]], %[[B]] : memref<4x4xi32> to memref<4x4xi32, 1>
// CHECK-NEXT:    memref.copy %[[B]], %[[A]] : memref<4x4xi32, 1> to memref<4x4xi32>
// CHECK-NEXT:    return
func.func @copies(%a: memref<4x4xi32>, %b: memref<4x4xi32, 1>) {
  linalg.copy ins(%a : memref<4x4xi32>) outs(%b : memref<4x4xi32, 1>)
  linalg.copy ins(%b : memref<4x4xi32, 1>) outs(%b : memref<4x4xi32, 1>)
  memref.copy %a, %a : memref<4x4xi32> to memref<4x4xi32>
  memref.copy %b, %a : memref<4x4xi32, 1> to memref<4x4xi32>
  return
}

// Tensors are left alone.
// CHECK-LABEL: func.func @tensors
// CHECK:         linalg.copy
func.func @tensors(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %c = linalg.copy ins(%a : tensor<4xi32>) outs(%b : tensor<4xi32>) -> tensor<4xi32>
  return %c : tensor<4xi32>
}
