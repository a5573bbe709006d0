// A pipeline stops after any stage: what that stage makes is there, and nothing of the next.
// RUN: npuflow-opt %s --npuflow-stream-k="grid=2,2" --stop-after=assign-strategy | filecheck %s --check-prefix=STRATEGY
// RUN: npuflow-opt %s --npuflow-stream-k="grid=2,2" --stop-after=tile-cores | filecheck %s --check-prefix=CORES
// RUN: npuflow-opt %s --npuflow-pack-peel="grid=2,2" --stop-after=pack-operands | filecheck %s --check-prefix=PACKED
// RUN: not npuflow-opt %s --npuflow-pad-pack --stop-after=peel-k 2>&1 | filecheck %s --check-prefix=UNKNOWN

// STRATEGY:     linalg.matmul {npu.strategy = #npu.strategy<
// STRATEGY-NOT: scf.for
// CORES:        scf.for
// CORES:        scf.forall (%{{.*}}, %{{.*}}) in (2, 2)
// CORES:        linalg.matmul
// CORES-NOT:    memory_space
// PACKED:       linalg.pack {{.*}} -> tensor<{{[0-9]+x[0-9]+x[0-9]+x[0-9]+}}xi32>
// PACKED-NOT:   memref
// UNKNOWN:      error: unknown stage 'peel-k'; hint: did you mean
func.func @matmul(%a: tensor<1024x2048xi32>, %b: tensor<2048x512xi32>) -> tensor<1024x512xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<1024x512xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x2048xi32>, tensor<2048x512xi32>) outs(%f : tensor<1024x512xi32>) -> tensor<1024x512xi32>
  return %r : tensor<1024x512xi32>
}
