// Blocks of 64x128, columns of blocks first, instead of npuflow-tile-blocks.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %n, %m = transform.structured.tile_using_for %matmul tile_sizes [64, 128] interchange = [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
