// A syntax error looks like MLIR's: position, message, source line, caret.
// RUN: not npuflow-opt %s 2>&1 | filecheck %s
// RUN: cat %s | not npuflow-opt - 2>&1 | filecheck %s --check-prefix=STDIN

// CHECK:      parse-error.mlir:12:19: error: use of undeclared SSA value name
// CHECK-NEXT: {{^}}  %0 = arith.addi %missing, %missing : i32
// CHECK-NEXT: {{^}}                  ^

// STDIN: <stdin>:12:19: error: use of undeclared SSA value name
// STDIN-NEXT: arith.addi
func.func @f() -> i32 {
  %0 = arith.addi %missing, %missing : i32
  return %0 : i32
}
