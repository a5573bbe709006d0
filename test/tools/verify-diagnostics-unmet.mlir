// What isn't met fails, in MLIR's words.
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --verify-diagnostics --test-warn 2>&1 | filecheck %s
// RUN: npuflow-opt %S/verify-diagnostics-only-expected.mlir --load=%root/test/core/plugins/passes.py --verify-diagnostics=only-expected --test-warn
// RUN: not npuflow-opt %S/verify-diagnostics-only-expected.mlir --load=%root/test/core/plugins/passes.py --verify-diagnostics --test-warn 2>&1 | filecheck %s --check-prefix=ALL

// CHECK-DAG: unmet.mlir:7:4: error: 'warning' diagnostic emitted when expecting a 'error'
// expected-error @+1 {{a function}}
func.func @kind() {
  return
}
// CHECK-DAG: unmet.mlir:13:1: error: unexpected warning: a function; hint: none is needed
// ALL: only-expected.mlir:{{[0-9]+}}:1: error: unexpected warning: a function
func.func @unexpected() {
  return
}
// CHECK-DAG: unmet.mlir:17:4: error: expected remark "nothing says this" was not produced
// expected-remark @+1 {{nothing says this}}
// CHECK-DAG: error: invalid regex:
// expected-error-re @unknown {{unbalanced {{(}}}}
// CHECK-DAG: error: expected error "nowhere" was not produced
// expected-error @unknown {{nowhere}}
