// Every message is expected and every expectation met.
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --split-input-file --verify-diagnostics --test-warn --test-count-constants=at-most=1 --remarks
func.func @here() { // expected-warning {{a function; hint: none is needed}}
  return
}
// expected-warning @-3 {{not parsed as one} so it does not count
// -----
// expected-warning @+1 {{a function}}
func.func @next() {
  return
}
// -----
func.func @before() {
// expected-warning @above {{a function}}
  return
}
// -----
// expected-warning-re @below {{a {{f[a-z]+n}}; hint}}
func.func @regex() {
  return
}
// -----
// expected-warning @+3 {{a function}}
// Both notions of a constant: remarks of all, errors of those too many.
// expected-remark @below {{[test-count-constants] a constant on none}}
func.func @errors() -> index { %0 = arith.constant 0 : index
// expected-remark @below {{a constant}}
// expected-error @below {{more than 1 constants; hint: use fewer}}
  %1 = arith.constant 1 : index
// expected-remark @+2 {{a constant}}
// expected-error @+1 {{more than 1 constants}}
  %2 = arith.constant 2 : index
  return %0 : index
}
// -----
func.func @parse_error() {
  // expected-error @below {{custom op 'nothing' is unknown}}
  nothing
}
