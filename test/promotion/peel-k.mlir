// The first and the last step of the outermost K loop get code of their own.
// RUN: npuflow-opt %s --npuflow-peel-k | filecheck %s

// CHECK-LABEL: func.func @three_parts
// CHECK-SAME:    %[[C:[^:]*]]: tensor<8x8xi32>
// CHECK-DAG:     %[[STEP:.*]] = arith.constant 16 : index
// CHECK:         %[[FIRST:.*]] = scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %[[STEP]] iter_args(%{{.*}} = %[[C]])
// CHECK:           scf.for {{.*}} step %c8
// CHECK:             linalg.matmul
// CHECK:         %[[MIDDLE:.*]] = scf.for %{{.*}} = %c16{{.*}} to %c48{{.*}} step %[[STEP]] iter_args(%{{.*}} = %[[FIRST]])
// CHECK:             linalg.matmul
// CHECK:         %[[LAST:.*]] = scf.for %{{.*}} = %c48{{.*}} to %c64{{.*}} step %[[STEP]] iter_args(%{{.*}} = %[[MIDDLE]])
// CHECK:             linalg.matmul
// CHECK-NOT:     scf.for
// CHECK:         return %[[LAST]]
func.func @three_parts(%c: tensor<8x8xi32>, %a: tensor<8x64xi32>, %b: tensor<64x8xi32>) -> tensor<8x8xi32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %r = scf.for %k = %c0 to %c64 step %c16 iter_args(%outer = %c) -> (tensor<8x8xi32>) {
    %t = scf.for %l = %c0 to %c16 step %c8 iter_args(%inner = %outer) -> (tensor<8x8xi32>) {
      %kl = arith.addi %k, %l : index
      %ak = tensor.extract_slice %a[0, %kl] [8, 8] [1, 1] : tensor<8x64xi32> to tensor<8x8xi32>
      %bk = tensor.extract_slice %b[%kl, 0] [8, 8] [1, 1] : tensor<64x8xi32> to tensor<8x8xi32>
      %m = linalg.matmul ins(%ak, %bk : tensor<8x8xi32>, tensor<8x8xi32>) outs(%inner : tensor<8x8xi32>) -> tensor<8x8xi32>
      scf.yield %m : tensor<8x8xi32>
    }
    scf.yield %t : tensor<8x8xi32>
  }
  return %r : tensor<8x8xi32>
}

// Two steps have nothing between them; the last may be shorter.
// CHECK-LABEL: func.func @two_parts
// CHECK:         %[[FIRST:.*]] = scf.for %{{.*}} = %c0{{.*}} to %c16
// CHECK:         scf.for %{{.*}} = %c16{{.*}} to %c24{{.*}} iter_args(%{{.*}} = %[[FIRST]])
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @two_parts(%c: tensor<8x8xi32>, %a: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %r = scf.for %k = %c0 to %c24 step %c16 iter_args(%acc = %c) -> (tensor<8x8xi32>) {
    %m = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%acc : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  return %r : tensor<8x8xi32>
}

// One step stays, and so does a loop whose bounds are only known when it runs, or that carries no sum.
// CHECK-LABEL: func.func @nothing_to_peel
// CHECK-COUNT-3: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @nothing_to_peel(%c: tensor<8x8xi32>, %a: tensor<8x8xi32>, %n: index) -> (tensor<8x8xi32>, tensor<8x8xi32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %r = scf.for %k = %c0 to %c16 step %c16 iter_args(%acc = %c) -> (tensor<8x8xi32>) {
    %m = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%acc : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<8x8xi32>) {
    %m = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%acc : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  %t = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %c0) -> (index) {
    %u = arith.addi %sum, %k : index
    scf.yield %u : index
  }
  return %r, %s, %t : tensor<8x8xi32>, tensor<8x8xi32>, index
}
