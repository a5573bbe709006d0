// RUN: npuflow-opt %s --npuflow-pad-blocks --verify-diagnostics --split-input-file
// RUN: not npuflow-opt %s --npuflow-pad-blocks=tile=8,8,0 --split-input-file 2>&1 | filecheck %s

// CHECK: error: npuflow-pad-blocks was given sizes 8,8,0; hint: sizes start at 1
func.func @no_strategy(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  // expected-error @below {{linalg.matmul has no complete #npu.strategy, which npuflow-pad-blocks needs; hint: run npuflow-assign-strategy before, or set this pass's options}}
  %r = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-error @below {{linalg.matmul has no complete #npu.strategy, which npuflow-pad-blocks needs}}
  %s = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1]}>} ins(%r, %r : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %s : tensor<8x8xi32>
}

// -----

func.func @matvec(%a: tensor<8x8xf32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{linalg.matvec is no matmul on static tensors with one m, n and k loop; hint: npuflow-check-input says what can be compiled}}
  %r = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @memref(%a: memref<8x8xf32>) {
  // expected-error @below {{linalg.matmul is no matmul on static tensors with one m, n and k loop}}
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  return
}

// -----

func.func @dynamic(%a: tensor<?x8xi32>, %b: tensor<8x8xi32>, %c: tensor<?x8xi32>) -> tensor<?x8xi32> {
  // expected-error @below {{linalg.matmul is no matmul on static tensors with one m, n and k loop}}
  %r = linalg.matmul {npu.strategy = #npu.strategy<{grid = [1, 1], tile_l2 = [16, 8, 8], tile_l1 = [16, 8, 8], pack = [4, 8, 8]}>}
      ins(%a, %b : tensor<?x8xi32>, tensor<8x8xi32>) outs(%c : tensor<?x8xi32>) -> tensor<?x8xi32>
  return %r : tensor<?x8xi32>
}
