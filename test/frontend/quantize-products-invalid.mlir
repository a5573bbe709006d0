// Ranges that tell nothing.
// RUN: npuflow-opt %s --npuflow-quantize-products --split-input-file --verify-diagnostics

func.func @nothing(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{a range of 0 tells nothing of a factor; hint: give its largest magnitude}}
  %r = linalg.matmul {npu.ranges = [0.0, 1.0]} ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @no_end(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{a range of -1 tells nothing of an end; hint: give its largest magnitude}}
  %r = linalg.matmul {npu.ranges = [1.0, 1.0, -1.0]} ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @one(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{npu.ranges is no list of two or three numbers; hint: give one for each factor, and one for its end}}
  %r = linalg.matmul {npu.ranges = [1.0]} ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @text(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{npu.ranges is no list of two or three numbers; hint: give one for each factor, and one for its end}}
  %r = linalg.matmul {npu.ranges = "wide"} ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
