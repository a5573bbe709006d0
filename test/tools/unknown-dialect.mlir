// RUN: not npuflow-opt %s 2>&1 | filecheck %s
// CHECK:      unknown-dialect.mlir:4:3: error: Dialect `linlag' not found for custom op 'linlag.matmul'; hint: did you mean linalg,
func.func @f() {
  linlag.matmul
}
