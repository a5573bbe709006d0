// Another MLIR tool reads our attributes, given only the generated description of the dialect.
// REQUIRES: iree-opt
// RUN: iree-opt --irdl-file=%root/dialects/npu.irdl.mlir %s | filecheck %s

// CHECK: module attributes {npu.device = #npu.device<"npu2", {columns = 2 : i64}>}
module attributes {npu.device = #npu.device<"npu2", {columns = 2 : i64}>} {
  // CHECK: linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 2], pack = [4, 8, 8]}>}
  func.func @f(%a: tensor<8x16xi32>, %b: tensor<16x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
    %0 = linalg.matmul {npu.strategy = #npu.strategy<{grid = [2, 2], pack = [4, 8, 8]}>}
        ins(%a, %b : tensor<8x16xi32>, tensor<16x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
    return %0 : tensor<8x8xi32>
  }
}
