// Our passes' counts stand with MLIR's, which has counters in some builds only.
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --pass-pipeline='builtin.module(test-count-constants,func.func(cse),test-count-constants)' --mlir-pass-statistics -o %t 2>&1 | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --pass-pipeline='builtin.module(test-count-constants,test-count-constants,cse)' --mlir-pass-statistics --mlir-pass-statistics-display=list -o %t 2>&1 | filecheck %s --check-prefix=LIST

// CHECK:      ... Pass statistics report ...
// CHECK:      test-count-constants
// CHECK-NEXT:   (S) 2 constants
// CHECK-NEXT: 'func.func' Pipeline
// CHECK-NEXT:   cse
// CHECK:      test-count-constants
// CHECK-NEXT:   (S) 1 constants

// LIST:      cse
// LIST:      test-count-constants
// LIST-NEXT:   (S) 4 constants
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
