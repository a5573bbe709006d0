// Only what has become one block of ops on memrefs has a schedule.
// RUN: npuflow-opt %s --npuflow-project-engines=device=toy --verify-diagnostics --split-input-file

// expected-error @below {{@tensors still works on tensor<16xi32>, and schedules are made of memrefs; hint: use a pipeline that ends in memrefs, as npuflow-stream-k}}
func.func @tensors(%a: tensor<16xi32>) -> tensor<16xi32> {
  return %a : tensor<16xi32>
}

// -----

// expected-error @below {{@branches has 2 blocks of ops, which branches lead to; hint: use scf.for and scf.if instead of branches}}
func.func @branches(%a: memref<16xi32>) -> memref<16xi32> {
  cf.br ^next
^next:
  return %a : memref<16xi32>
}

// -----

// expected-error @below {{argument 1 of @scalar is a scalar (i32), and schedules are made of memrefs; hint: make it a memref of one element}}
func.func @scalar(%a: memref<16xi32>, %n: i32) -> memref<16xi32> {
  return %a : memref<16xi32>
}
