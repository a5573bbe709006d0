// RUN: not npuflow-opt %s 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: npuflow-opt %s --allow-unregistered-dialect | filecheck %s
// REFUSED: error: operation being parsed with an unregistered dialect
// CHECK: "my.op"() : () -> ()
"my.op"() : () -> ()
