// Notes are expected on their own.
// RUN: npuflow-opt %s --verify-diagnostics
// expected-note @below {{prior use here}}
func.func @f(%a: i32) -> i64 {
  // expected-error @below {{use of value '%a' expects different type than prior uses: 'i64' vs 'i32'}}
  return %a : i64
}
