// RUN: npuflow-opt %s --verify-roundtrip | filecheck %s
// CHECK: #npu.strategy
func.func @f() attributes {npu.strategy = #npu.strategy<{grid = [2, 2]}>} {
  return
}
