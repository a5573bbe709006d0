// What a schedule that succeeds has to say comes as remarks.
// RUN: npuflow-opt %s --npuflow-apply-schedule --verify-diagnostics | filecheck %s
// CHECK: func.func @f
// CHECK-NOT: transform
module attributes {transform.with_named_sequence} {
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %empty = tensor.empty() : tensor<4x4xf32>
    // expected-remark @below {{found one}}
    %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-remark @below {{found one}}
    %1 = linalg.matmul ins(%0, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %matmul, "found one" : !transform.any_op
    transform.yield
  }
}
