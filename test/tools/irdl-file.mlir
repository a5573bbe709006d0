// RUN: npuflow-opt %s --irdl-file=%S/Inputs/shape.irdl.mlir | filecheck %s
// RUN: not npuflow-opt %s 2>&1 | filecheck %s --check-prefix=UNKNOWN
// CHECK: "plane.point"() : () -> i32
// UNKNOWN: error: operation being parsed with an unregistered dialect
func.func @f() -> i32 {
  %0 = "plane.point"() : () -> i32
  return %0 : i32
}
