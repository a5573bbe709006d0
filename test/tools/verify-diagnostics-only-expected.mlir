// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --verify-diagnostics=only-expected --test-warn
// expected-warning @+1 {{a function}}
func.func @expected() {
  return
}
func.func @let_pass() {
  return
}
