// One file per dump, in a directory per op.
// RUN: rm -rf %t && npuflow-opt %s --pass-pipeline='builtin.module(canonicalize,func.func(cse),symbol-dce)' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t -o %t.out
// RUN: filecheck %s --input-file %t/builtin_module_top/0_canonicalize.mlir
// RUN: filecheck %s --input-file %t/builtin_module_top/1_symbol-dce.mlir
// RUN: filecheck %s --input-file %t/builtin_module_top/func_func_f/0_0_cse.mlir
// RUN: filecheck %s --input-file %t/builtin_module_top/func_func_g/0_0_cse.mlir
// CHECK: // -----// IR Dump After {{canonicalize|symbol-dce|cse}} //----- //
module @top {
  func.func @f() {
    return
  }
  func.func @g() {
    return
  }
}
