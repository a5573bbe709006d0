// A schedule replaces the stages of a pipeline up to the one where it hands over, except those that the pipeline keeps.
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --transform-schedule=%S/Inputs/tile.mlir --dump-pass-pipeline 2>&1 | filecheck %s
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --transform-schedule=%S/Inputs/tile.mlir --resume-after=count --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=LATER
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --transform-schedule=%S/Inputs/tile.mlir --resume-after=merge --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=ALL
// RUN: npuflow-opt %s --npuflow-apply-schedule=file=%S/Inputs/nameless.mlir\ entry=other | filecheck %s --check-prefix=ALONE
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --transform-schedule=%S/Inputs/tile.mlir --resume-after=mrege 2>&1 | filecheck %s --check-prefix=STAGE
// RUN: not npuflow-opt %s --cse --transform-schedule=%S/Inputs/tile.mlir 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not npuflow-opt %s --cse --resume-after=fold 2>&1 | filecheck %s --check-prefix=LONELY

// CHECK: builtin.module(test-count-constants,npuflow-apply-schedule{file={{.*}}tile.mlir},func.func(cse))
// CHECK-LABEL: func.func @matmul
// CHECK: scf.for
// CHECK: linalg.matmul {{.*}} -> tensor<2x4xf32>
// CHECK-NOT: transform
// LATER: builtin.module(test-count-constants,npuflow-apply-schedule{{.*}},canonicalize{{.*}},func.func(cse))
// ALL: builtin.module(test-count-constants,npuflow-apply-schedule{{[^,]*}})
// ALONE: scf.for
// STAGE: error: unknown stage 'mrege'; hint: did you mean merge,
// NONE: error: a transform schedule replaces stages of a named pipeline, but none runs; hint: name one, or run the pass npuflow-apply-schedule itself
// LONELY: error: --resume-after is given without --transform-schedule; hint: give both
func.func @matmul(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %unused = arith.constant 1 : index
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
