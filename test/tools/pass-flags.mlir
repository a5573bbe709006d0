// Passes are flags, run in the order they are given; one dash or two, options behind `=`.
// RUN: npuflow-opt %s --cse -canonicalize | filecheck %s
// RUN: npuflow-opt %s --pass-pipeline='builtin.module(func.func(cse),canonicalize{max-iterations=2})' | filecheck %s
// RUN: npuflow-opt %s -pass-pipeline 'builtin.module(cse,canonicalize)' -o - | filecheck %s
// RUN: npuflow-opt %s --canonicalize="max-iterations=2 top-down=false" --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: npuflow-opt %s --cse --affine-super-vectorize="virtual-vector-size=4" --canonicalize --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=NESTED

// CHECK-LABEL: func.func @sum
// CHECK-NEXT:    %[[C:.*]] = arith.constant 2 : index
// CHECK-NEXT:    return %[[C]]

// ORDER: builtin.module(canonicalize{
// ORDER-SAME: max-iterations=2
// ORDER-SAME: top-down=false

// NESTED: builtin.module(cse,func.func(affine-super-vectorize{
// NESTED-SAME: canonicalize{
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
