// npuflow-verify compares the module as it is at its place with the module as the pipeline got it.

// RUN: npuflow-opt %s --pass-pipeline='npuflow-stream-k,npuflow-verify' --remarks=npuflow-verify 2>&1 | filecheck %s --check-prefixes=REMARK,IR
// REMARK-DAG: verify-results.mlir:[[#]]:1: remark: [npuflow-verify] @integers computes what the input computes: bit-exact
// REMARK-DAG: remark: [npuflow-verify] @reals computes what the input computes: max error {{.*}} allowed (derived); in 64 bits {{.*}} of

// It changes nothing.
// IR: func.func @integers(%{{.*}}: memref<5x7xi8>

// RUN: npuflow-opt %s --npuflow-verify --remarks=npuflow-verify -o %t 2>&1 | filecheck %s --check-prefix=INPUT
// INPUT-DAG: @integers computes what the input computes
// INPUT-DAG: @reals computes what the input computes

// One function of several, other data, and the JIT as the judge.
// RUN: npuflow-opt %s --npuflow-verify='function=reals seed=3 oracle=jit' --remarks -o %t 2>&1 | filecheck %s --check-prefix=ONE
// ONE-NOT: @integers
// ONE: @reals computes what the input computes: max error {{.*}} in 64 bits 0 of

// What IREE cannot run is compared with its own execution before.
// RUN: echo "func.func @m(%%m: memref<4xi32>) { return }" | npuflow-opt - --npuflow-verify --remarks -o %t 2>&1 | filecheck %s --check-prefix=MEMREF
// MEMREF: remark: [npuflow-verify] @m computes what the input computes: bit-exact (by the input's own execution: IREE runs functions of tensors, and @m(4xi32) -> () takes memrefs)

// Against another file.
// RUN: npuflow-opt %s --npuflow-verify='against=%s' --remarks -o %t 2>&1 | filecheck %s --check-prefix=AGAINST
// AGAINST: @integers computes what '{{.*}}verify-results.mlir' computes: bit-exact

// RUN: npuflow-opt %s --npuflow-verify --mlir-pass-statistics -o %t 2>&1 | filecheck %s --check-prefix=COUNT
// COUNT: 2 functions that are ok

func.func @integers(%a: tensor<5x7xi8>, %b: tensor<7x3xi8>, %c: tensor<5x3xi32>) -> tensor<5x3xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<5x7xi8>, tensor<7x3xi8>) outs(%c : tensor<5x3xi32>) -> tensor<5x3xi32>
  return %r : tensor<5x3xi32>
}

func.func @reals(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>) outs(%c : tensor<5x3xf32>) -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}
