// Bytecode goes out, and comes in as any input does.
// RUN: npuflow-opt %s --emit-bytecode -o %t.mlirbc && npuflow-opt %t.mlirbc | filecheck %s
// RUN: npuflow-opt %s --emit-bytecode | npuflow-opt - --verify-roundtrip | filecheck %s
// CHECK-LABEL: func.func @empty
func.func @empty() {
  return
}
