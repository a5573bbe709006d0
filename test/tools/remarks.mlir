// Remarks are shown on demand: of all passes, or of some.
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants --remarks -o %t 2>&1 | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants --remarks=test-count-constants,cse -o %t 2>&1 | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants --remarks=cse -o %t 2> %t.none && test ! -s %t.none
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants -o %t 2> %t.none && test ! -s %t.none
// CHECK:      remarks.mlir:11:10: remark: [test-count-constants] a constant on none
// CHECK-NEXT: {{^}}  %one = arith.constant 1 : index
// CHECK-NEXT: {{^}}         ^

func.func @one() -> index {
  %one = arith.constant 1 : index
  return %one : index
}
