// A transform-dialect schedule of a user's own: 64x64 blocks, a 2x2 grid of cores, K in steps of 32.
//   npuflow-opt examples/matmul.mlir --npuflow-stream-k --transform-schedule=examples/schedule.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %block, %loops:2 = transform.structured.tile_using_for %matmul tile_sizes [64, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %core, %grid = transform.structured.tile_using_forall %block num_threads [2, 2] (mapping = [#gpu.thread<y>, #gpu.thread<x>])
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %step, %k = transform.structured.tile_using_for %core tile_sizes [0, 0, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
