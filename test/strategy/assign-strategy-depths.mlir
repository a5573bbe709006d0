// RUN: npuflow-opt %s --npuflow-assign-strategy='device=npu2 depth-l2=2 depth-rhs=2,1 depth-result=2' | filecheck %s

// Slots of buffers can be said for all operands, for one, and for the result.

// CHECK-LABEL: func.func @said
// CHECK:         linalg.matmul {npu.strategy = #npu.strategy<{depth_l1 = 2 : i64, depth_l2 = 2 : i64, depth_result = 2 : i64, depth_rhs = [2, 1],
func.func @said(%a: tensor<256x256xi8>, %b: tensor<256x256xi8>) -> tensor<256x256xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<256x256xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<256x256xi32>) -> tensor<256x256xi32>
  %r = linalg.matmul ins(%a, %b : tensor<256x256xi8>, tensor<256x256xi8>) outs(%f : tensor<256x256xi32>) -> tensor<256x256xi32>
  return %r : tensor<256x256xi32>
}
