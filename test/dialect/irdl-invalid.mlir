// What the description forbids, the other tool refuses too.
// REQUIRES: iree-opt
// RUN: not iree-opt --irdl-file=%root/dialects/npu.irdl.mlir %s --split-input-file 2>&1 | filecheck %s

// CHECK: :6:{{[0-9]+}}: error: expected base attribute 'builtin.string' but got 'builtin.integer'
module attributes {npu.device = #npu.device<2 : i64, {columns = 2 : i64}>} {}

// -----

// CHECK: :11:{{[0-9]+}}: error: expected base attribute 'builtin.dictionary' but got 'builtin.array'
module attributes {npu.strategy = #npu.strategy<[2, 2]>} {}
