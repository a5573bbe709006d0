// A fill stands right in front of what first adds to it.
// RUN: npuflow-opt %s --npuflow-sink-fill | filecheck %s

// CHECK-LABEL: func.func @sink
// CHECK:         linalg.pack
// CHECK-NEXT:    %[[F:.*]] = linalg.fill
// CHECK-NEXT:    scf.for {{.*}} iter_args(%{{.*}} = %[[F]])
func.func @sink(%a: tensor<8x8xi32>, %l1: tensor<1x1x8x8xi32>, %l2: tensor<8x8xi32>, %n: index) -> (tensor<8x8xi32>, tensor<1x1x8x8xi32>) {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = linalg.fill ins(%zero : i32) outs(%l2 : tensor<8x8xi32>) -> tensor<8x8xi32>
  %p = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %l1 : tensor<8x8xi32> -> tensor<1x1x8x8xi32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %f) -> (tensor<8x8xi32>) {
    %m = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%acc : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  return %r, %p : tensor<8x8xi32>, tensor<1x1x8x8xi32>
}

// A fill with two users, or one whose user is in another block, stays.
// CHECK-LABEL: func.func @stay
// CHECK:         linalg.fill
// CHECK-NEXT:    linalg.fill
// CHECK-NEXT:    linalg.copy
// CHECK:         scf.for
func.func @stay(%a: tensor<8x8xi32>, %l2: tensor<8x8xi32>, %n: index) -> (tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>) {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %shared = linalg.fill ins(%zero : i32) outs(%l2 : tensor<8x8xi32>) -> tensor<8x8xi32>
  %inside = linalg.fill ins(%zero : i32) outs(%l2 : tensor<8x8xi32>) -> tensor<8x8xi32>
  %c = linalg.copy ins(%a : tensor<8x8xi32>) outs(%l2 : tensor<8x8xi32>) -> tensor<8x8xi32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %shared) -> (tensor<8x8xi32>) {
    %m = linalg.matmul ins(%a, %inside : tensor<8x8xi32>, tensor<8x8xi32>) outs(%acc : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  return %r, %c, %shared : tensor<8x8xi32>, tensor<8x8xi32>, tensor<8x8xi32>
}
