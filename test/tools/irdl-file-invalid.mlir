// The verifier that the IRDL file asks for runs.
// RUN: npuflow-opt %s --irdl-file=%S/Inputs/shape.irdl.mlir --verify-diagnostics
func.func @f() {
  // expected-error @+1 {{expected 'i32' but got 'i64'}}
  %0 = "plane.point"() : () -> i64
  return
}
