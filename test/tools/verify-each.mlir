// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-leave-invalid --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-leave-invalid --verify-each=false | filecheck %s --check-prefix=UNVERIFIED
// CHECK: error: {{.*}}block
// CHECK: error: pass 'test-leave-invalid' left invalid IR
// UNVERIFIED: "func.func"
// UNVERIFIED-NOT: func.return
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
