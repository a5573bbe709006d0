// RUN: npuflow-opt %s --cse --canonicalize --mlir-print-ir-before=cse -o %t 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: npuflow-opt %s --cse --canonicalize --mlir-print-ir-after=cse,canonicalize -o %t 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: npuflow-opt %s --cse --canonicalize --mlir-print-ir-before-all -o %t 2>&1 | filecheck %s --check-prefix=BEFORE-ALL
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants --cse --mlir-print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix=AFTER-ALL
// RUN: npuflow-opt %s --cse --cse --canonicalize --mlir-print-ir-after-change -o %t 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --cse --test-refuse --mlir-print-ir-after-failure -o %t 2>&1 | filecheck %s --check-prefix=FAILURE
// RUN: npuflow-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: npuflow-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after-all --mlir-print-ir-module-scope -o %t 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: npuflow-opt %s --cse --mlir-print-ir-after-all --mlir-print-op-generic -o %t 2>&1 | filecheck %s --check-prefix=GENERIC

// BEFORE:     // -----// IR Dump Before cse //----- //
// BEFORE:     %{{.*}} = arith.addi
// BEFORE-NOT: IR Dump

// AFTER:      // -----// IR Dump After cse //----- //
// AFTER:      arith.addi
// AFTER:      // -----// IR Dump After canonicalize //----- //
// AFTER-NOT:  arith.addi

// BEFORE-ALL: // -----// IR Dump Before cse //----- //
// BEFORE-ALL: // -----// IR Dump Before canonicalize //----- //

// AFTER-ALL:  // -----// IR Dump After test-count-constants //----- //
// AFTER-ALL:  // -----// IR Dump After cse //----- //

// CHANGE:     // -----// IR Dump After cse //----- //
// CHANGE-NOT: // -----// IR Dump After cse //----- //
// CHANGE:     // -----// IR Dump After canonicalize //----- //

// FAILURE-NOT: IR Dump After cse
// FAILURE:     // -----// IR Dump After Failed test-refuse //----- //

// NESTED:      // -----// IR Dump After cse //----- //
// NESTED-NEXT: func.func @sum

// MODULE:      // -----// IR Dump After cse ('func.func' operation: @sum) //----- //
// MODULE-NEXT: module {

// GENERIC:     "arith.addi"
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
