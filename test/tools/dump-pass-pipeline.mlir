// The pipeline is shown with its stages' passes.
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages="device=d" --dump-pass-pipeline -o %t 2>&1 | filecheck %s
// CHECK:      Pass Manager with 3 passes:
// CHECK-NEXT: builtin.module(test-count-constants{device=d},canonicalize{{{.*max-iterations=10.*}}},func.func(cse))
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
