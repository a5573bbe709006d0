// A reproducer that stock MLIR wrote is replayed as well.
// RUN: npuflow-opt %s --run-reproducer | filecheck %s
// RUN: npuflow-opt %s --run-reproducer --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: npuflow-opt %s --cse -o %t 2>&1 | filecheck %s --check-prefix=WARNING
// CHECK-NOT: arith.constant
// PIPELINE: builtin.module(func.func(canonicalize{{.*}}max-iterations=3
// WARNING: warning: ignoring unknown external resources for 'mlir_reproducer'
func.func @unused() {
  %one = arith.constant 1 : index
  return
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(canonicalize{max-iterations=3}))",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
