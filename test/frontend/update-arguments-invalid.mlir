// RUN: npuflow-opt %s --npuflow-update-arguments --split-input-file --verify-diagnostics

// expected-error@+1 {{argument 0 of @f becomes 1 : i64, which is no result of it; hint: give npu.becomes the number of a result: 0 to 0}}
func.func @f(%a: tensor<4xf32> {npu.becomes = 1 : i64}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0 of @f becomes "r", which is no result of it; hint: give npu.becomes the number of a result: none}}
func.func @f(%a: tensor<4xf32> {npu.becomes = "r"}) {
  return
}

// -----

// expected-error@+1 {{argument 1 of @f becomes result 0, which is tensor<4xf32> and not tensor<2xf32>; hint: only a tensor of the same type takes an argument's place}}
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32> {npu.becomes = 0 : i64}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 1 of @f becomes result 0, as argument 0 does; hint: let a result take one argument's place}}
func.func @f(%a: tensor<4xf32> {npu.becomes = 0 : i64}, %b: tensor<4xf32> {npu.becomes = 0 : i64}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
