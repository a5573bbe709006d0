// A function has one array: where a matmul says its grid, and wants no other, the others take that.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=toy | filecheck %s
// RUN: npuflow-opt %s --npuflow-stream-k=device=toy --npuflow-schedule -o %t

// CHECK-LABEL: func.func @said
// A row of two cores, along m if that is turned.
// CHECK: linalg.matmul {npu.strategy = #npu.strategy<{{.*}}grid = {{\[1, 2\]|\[2, 1\].*turned = 1}}
// CHECK: linalg.matmul {npu.strategy = #npu.strategy<{{.*}}grid = [1, 2]
func.func @said(%a: tensor<64x64xi8>, %b: tensor<8x64xi8>) -> (tensor<64x64xi32>, tensor<8x64xi32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %r = linalg.matmul ins(%a, %a : tensor<64x64xi8>, tensor<64x64xi8>) outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  %g = tensor.empty() : tensor<8x64xi32>
  %h = linalg.fill ins(%zero : i32) outs(%g : tensor<8x64xi32>) -> tensor<8x64xi32>
  %s = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 2]}>}
      ins(%b, %a : tensor<8x64xi8>, tensor<64x64xi8>) outs(%h : tensor<8x64xi32>) -> tensor<8x64xi32>
  return %r, %s : tensor<64x64xi32>, tensor<8x64xi32>
}
