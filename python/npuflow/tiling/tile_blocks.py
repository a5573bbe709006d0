"""npuflow-tile-blocks: a temporal loop nest over blocks of the output."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import bundle_of
from npuflow.ops.contraction import matmuls
from npuflow.strategy.strategy import required_sizes
from npuflow.tiling.cuts import Cuts, sizes_with
from npuflow.tiling.tile_group import tile_groups


@register_pass
@dataclass(frozen=True)
class TileBlocks(Pass):
    """Tiles each matmul with its fill and tail into blocks of the L2 tile, one after the other.

    Batch loops are tiled by one. An accumulator that is not filled is read from where it comes from, so that the
    result's buffer is only written. Blocks at the edge are padded with zeros, and what was computed there is cut off.

        %f = linalg.fill ... outs(%e : tensor<128x128xf32>)
        %r = linalg.matmul ins(%a, %b : tensor<128x64xf32>, ...) outs(%f : ...)

    becomes

        %r = scf.for %m = %c0 to %c128 step %c64 iter_args(%out = %e) {
          scf.for %n = %c0 to %c128 step %c64 iter_args(...) {
            %a_block = tensor.extract_slice %a[%m, 0] [64, 64] [1, 1]
            %b_block = tensor.extract_slice %b[0, %n] [64, 64] [1, 1]
            %f = linalg.fill ... outs(%e_block : tensor<64x64xf32>)
            %r = linalg.matmul ins(%a_block, %b_block : ...) outs(%f : ...)
            tensor.insert_slice %r into ...
    """

    name = "npuflow-tile-blocks"
    group = "tiling"
    tile: tuple[int, int] | None = option(None, "m,n of a block; default: the strategy's tile-l2")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        todo = []
        for contraction in matmuls(op, context):
            sizes = required_sizes(self, contraction, context, self.tile, lambda strategy: strategy.tile_l2)
            if sizes is not None:
                bundle = bundle_of(contraction)
                roles = {contraction.m: sizes[0], contraction.n: sizes[1], contraction.batch: 1}
                block = sizes_with(bundle, roles)
                todo.append((bundle, Cuts(block, block, block, order=tuple(range(bundle.space)))))
        tile_groups(todo, context, "matmuls tiled into blocks")
