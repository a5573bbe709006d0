// What no instruction of a device multiplies is a bundle, whatever is faster.
// RUN: npuflow-opt %s --npuflow-bundle-matmuls=device=npu2 --remarks 2>&1 | filecheck %s
// RUN: npuflow run %s --device=npu2 | filecheck %s --check-prefix=RIGHT
// RUN: npuflow run %s --device=toy-scratchpad | filecheck %s --check-prefix=RIGHT

// CHECK: remark: [npuflow-bundle-matmuls] is mapped as a bundle: 'npu2' cannot multiply such matrices
// CHECK-LABEL: func.func @integers
// CHECK:         linalg.generic {{.*}} {npu.bundle = 0
// RIGHT:       @integers
// RIGHT:         verified    bit-exact
func.func @integers(%a: tensor<13x7xi64>, %b: tensor<7x5xi64>, %c: tensor<13x5xi64>) -> tensor<13x5xi64> {
  %s = linalg.matmul ins(%a, %b : tensor<13x7xi64>, tensor<7x5xi64>) outs(%c : tensor<13x5xi64>) -> tensor<13x5xi64>
  return %s : tensor<13x5xi64>
}

// CHECK-LABEL: func.func @mixed
// CHECK:         npu.bundle = 0
// RIGHT:       @mixed
// RIGHT:         verified    bit-exact
func.func @mixed(%a: tensor<13x7xi8>, %b: tensor<7x5xi16>) -> tensor<13x5xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<13x5xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<13x5xi32>) -> tensor<13x5xi32>
  %s = linalg.matmul ins(%a, %b : tensor<13x7xi8>, tensor<7x5xi16>) outs(%f : tensor<13x5xi32>) -> tensor<13x5xi32>
  return %s : tensor<13x5xi32>
}
