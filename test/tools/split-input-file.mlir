// Parts between markers are modules of their own; positions in messages are those of the file.
// RUN: npuflow-opt %s --split-input-file --cse | filecheck %s
// RUN: npuflow-opt %s --split-input-file="// +++++" --cse | filecheck %s --check-prefix=OTHER
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --split-input-file --test-count-constants --remarks 2>&1 | filecheck %s --check-prefix=PLACE

// CHECK:       func.func @first
// CHECK:       // -----
// CHECK:       func.func @second

// OTHER-COUNT-1: module
// OTHER:       func.func @first
// OTHER:       func.func @second

// PLACE: split-input-file.mlir:21:8: remark: [test-count-constants] a constant on none
// PLACE-NEXT: %c = arith.constant 7 : index
func.func @first() {
  return
}
// -----
func.func @second() -> index {
  %c = arith.constant 7 : index
  return %c : index
}
