// A crash leaves the IR in front of the failing pass and what is left of the pipeline; the file replays it.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --cse --test-crash --canonicalize 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=FILE --input-file npuflow-reproducer.mlir
// RUN: not npuflow-opt --run-reproducer --load=%root/test/core/plugins/passes.py npuflow-reproducer.mlir 2>&1 | filecheck %s --check-prefix=REPLAY
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-crash --mlir-pass-pipeline-crash-reproducer=named.mlir 2>&1 | filecheck %s --check-prefix=NAMED
// RUN: npuflow-opt %s --cse --mlir-pass-pipeline-crash-reproducer=unneeded.mlir -o out.mlir && test ! -e unneeded.mlir
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --cse --test-refuse --mlir-pass-pipeline-crash-reproducer=refused.mlir 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: not npuflow-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE

// CHECK:      reproducer.mlir:{{[0-9]+}}:{{[0-9]+}}: error: pass 'test-crash' crashed: KeyError: 'a bug in test-crash'
// CHECK:      Traceback
// CHECK:      in run
// CHECK:      note: npuflow-reproducer.mlir reproduces this with 2 passes; hint: npuflow-opt --run-reproducer --load={{.*}}passes.py npuflow-reproducer.mlir

// One constant is left, as cse has run.
// FILE-COUNT-1: arith.constant
// FILE:       {-#
// FILE-NEXT:    external_resources: {
// FILE-NEXT:      mlir_reproducer: {
// FILE-NEXT:        pipeline: "builtin.module(test-crash,canonicalize)",
// FILE-NEXT:        disable_threading: false,
// FILE-NEXT:        verify_each: true

// REPLAY-NOT: warning
// REPLAY:     reproducer.mlir:{{.*}}: error: pass 'test-crash' crashed
// NAMED:      note: named.mlir reproduces this with 1 pass;
// REFUSED:    error: refused; hint: run another pass
// REFUSED:    note: refused.mlir reproduces this with 1 pass;
// NONE:       error: '{{.*}}' is no reproducer; hint: --run-reproducer needs
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
