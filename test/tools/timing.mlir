// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --pass-pipeline='builtin.module(test-count-constants,func.func(cse))' --mlir-timing -o %t 2>&1 | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --pass-pipeline='builtin.module(test-count-constants,func.func(cse),cse)' --mlir-timing --mlir-timing-display=list -o %t 2>&1 | filecheck %s --check-prefix=LIST

// CHECK:      ===----
// CHECK-NEXT: ... Execution time report ...
// CHECK:      Total Execution Time: {{[0-9]+\.[0-9]+}} seconds
// CHECK:      ----Wall Time----  ----Name----
// CHECK-NEXT: )  Parser
// CHECK-NEXT: )  test-count-constants
// CHECK-NEXT: )  'func.func' Pipeline
// CHECK-NEXT: )    cse
// CHECK-NEXT: )  Output
// CHECK-NEXT: )  Rest
// CHECK-NEXT: (100.0%)  Total

// LIST-COUNT-1: )  cse
// LIST:         )  Rest
func.func @empty() {
  return
}
