// What a pipeline writes is ordinary MLIR: another tool, of another LLVM version, reads it and runs its own passes on it.
// Generic form is what both versions spell alike.
// REQUIRES: iree-opt
// RUN: npuflow-opt %root/examples/matmul.mlir --npuflow-stream-k="grid=2,2" --mlir-print-op-generic -o %t.mlir
// RUN: iree-opt --irdl-file=%root/dialects/npu.irdl.mlir --canonicalize %t.mlir | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK:       memref.copy
// CHECK:       linalg.pack
// CHECK:       npu.strategy = #npu.strategy<
