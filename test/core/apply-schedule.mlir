// The schedule inside a module is applied to it, and is gone afterwards.
// RUN: npuflow-opt %s --npuflow-apply-schedule | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --transform-schedule | filecheck %s
// CHECK: {{^}}module {{[{]$}}
// CHECK-NOT: transform
// CHECK: scf.for
// CHECK: linalg.matmul {{.*}} -> tensor<2x4xf32>
// CHECK-NOT: transform
module attributes {transform.with_named_sequence} {
func.func @matmul(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %unused = arith.constant 1 : index
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %matmul tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
