// Every error of npuflow-verify.

// RUN: not npuflow-opt %s --load=%S/Inputs/wrong_passes.py --pass-pipeline='npuflow-stream-k,npuflow-verify,wrong-drop-copy,npuflow-verify' -o %t 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: verify-results-invalid.mlir:[[#]]:1: error: @f computes something else than the input: {{[0-9]+}} of 15 elements are wrong, the first: [0, 0] is {{.*}}, expected

// RUN: not npuflow-opt %s --load=%S/Inputs/wrong_passes.py --pass-pipeline='gpu-add-barrier,npuflow-verify' -o %t 2>&1 | filecheck %s --check-prefix=SKIPPED
// SKIPPED: error: @f cannot be verified: @f cannot be executed on the CPU; gpu.barrier is not allowed in a program

// RUN: not npuflow-opt %s --pass-pipeline='func.func(npuflow-verify)' -o %t 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED: error: npuflow-verify runs on modules, not on func.func; hint: put it outside of nested pipelines

// RUN: not npuflow-opt %s --npuflow-verify='function=g' -o %t 2>&1 | filecheck %s --check-prefix=FUNCTION
// FUNCTION: unknown function '@g'; hint: did you mean @f?

// RUN: not npuflow-opt %s --npuflow-verify='against=%t.missing' -o %t 2>&1 | filecheck %s --check-prefix=AGAINST
// AGAINST: error: cannot open input file '{{.*}}.missing'

// RUN: not npuflow-opt %s --npuflow-verify='oracle=gpu' -o %t 2>&1 | filecheck %s --check-prefix=ORACLE
// ORACLE: option 'oracle' of npuflow-verify cannot be 'gpu': expected one of iree, jit

// RUN: not npuflow-opt %s --npuflow-verify='memory-limit=lots' -o %t 2>&1 | filecheck %s --check-prefix=LIMIT
// LIMIT: the memory limit cannot be 'lots'; hint: give bytes, or as 512M or 4G

// RUN: not npuflow-opt %s --load=%S/Inputs/wrong_passes.py --pass-pipeline='npuflow-stream-k,wrong-loop-forever,npuflow-verify{oracle=jit time-limit=1}' -o %t 2>&1 | filecheck %s --check-prefix=FOREVER
// FOREVER: error: @f computes something else than the input: the execution of @f did not end within 1 s; hint: allow more time (--time-limit, npuflow.Limits)

// RUN: echo "module {}" | not npuflow-opt - --npuflow-verify -o %t 2>&1 | filecheck %s --check-prefix=EMPTY
// EMPTY: error: there is no public function with a body to be verified

// RUN: echo "func.func @d(%%t: tensor<?xi32>) { return }" | not npuflow-opt - --npuflow-verify -o %t 2>&1 | filecheck %s --check-prefix=DYNAMIC
// DYNAMIC: error: argument 0 of type tensor<?xi32> has a dynamic shape; hint: only static shapes can be executed

func.func @f(%a: tensor<5x7xi8>, %b: tensor<7x3xi8>, %c: tensor<5x3xi32>) -> tensor<5x3xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<5x7xi8>, tensor<7x3xi8>) outs(%c : tensor<5x3xi32>) -> tensor<5x3xi32>
  return %r : tensor<5x3xi32>
}
