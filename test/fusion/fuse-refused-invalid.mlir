// What is no list of groups, or of groups with a reason.
// RUN: npuflow-opt %s --npuflow-fuse-matmuls=device=npu1 --split-input-file --verify-diagnostics

// expected-error @below {{npu.refused says 7 : i64; hint: for example npu.refused = [{made_of = ["f_0", "f_1"], why = "it is too long"}]}}
func.func @number(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16> attributes {npu.refused = 7 : i64} {
  %s = linalg.matmul ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %r = linalg.matmul ins(%s, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----

// expected-error @below {{npu.refused says {made_of = ["f_0"]}; hint: for example}}
func.func @no_reason(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16>
    attributes {npu.refused = [{made_of = ["f_0"]}]} {
  %s = linalg.matmul ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %r = linalg.matmul ins(%s, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----

// expected-error @below {{npu.refused says {made_of = [], why = "it is too long"}; hint: for example}}
func.func @no_groups(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16>
    attributes {npu.refused = [{made_of = [], why = "it is too long"}]} {
  %s = linalg.matmul ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %r = linalg.matmul ins(%s, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----

// expected-error @below {{npu.together says 7 : i64; hint: for example npu.together = [["f_0", "f_1"]]}}
func.func @not_together(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16>
    attributes {npu.together = 7 : i64} {
  %s = linalg.matmul ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %r = linalg.matmul ins(%s, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----

// expected-error @below {{npu.together says []; hint: for example}}
func.func @no_names(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16>
    attributes {npu.together = [["f_0", "f_1"], []]} {
  %s = linalg.matmul ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %r = linalg.matmul ins(%s, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----

// expected-error @below {{npu.estimated says {groups = ["f_0"], ns = 7 : i64}; hint: leave it out, passes say it anew}}
func.func @not_estimated(%a: tensor<64x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16>
    attributes {npu.estimated = [{groups = ["f_0"], ns = 7}]} {
  %s = linalg.matmul ins(%a, %b : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %r = linalg.matmul ins(%s, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}
