// Options that no matmul can follow, and all of K in a too small L2.
// RUN: npuflow-opt %s --npuflow-assign-strategy='device=toy grid=0,2 tile-l1=-8,8,8' --verify-diagnostics=only-expected
// RUN: not npuflow-opt %s --npuflow-assign-strategy='device=toy k-in-l2=whole' 2>&1 | filecheck %s
// RUN: not npuflow-opt %s --npuflow-assign-strategy=device=npu9 2>&1 | filecheck %s --check-prefix=DEVICE

// CHECK:  error: L2 of 2 columns needs {{[0-9]+}} bytes, has 524288 (rhs {{[0-9]+}}, lhs {{[0-9]+}}, result {{[0-9]+}}); hint: all of K=1048576 stays in L2 here: use npuflow-stream-k
// DEVICE: error: {{.*}}'npu9'{{.*}}hint: {{.*}}npu2
func.func @f(%a: tensor<16x1048576xi32>, %b: tensor<1048576x16xi32>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @below {{option grid=(0, 2) is not positive; hint: sizes start at 1}}
  // expected-error @below {{option tile-l1=(-8, 8, 8) is not positive; hint: sizes start at 1}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x1048576xi32>, tensor<1048576x16xi32>) outs(%c : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %0 : tensor<16x16xi32>
}
