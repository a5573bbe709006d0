"""npuflow-pad-blocks: blocks are padded to multiples of a tile."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import bundle_of
from npuflow.ops.contraction import matmuls
from npuflow.ops.products import padded
from npuflow.strategy.strategy import required_sizes
from npuflow.tiling.cuts import Cuts, sizes_with
from npuflow.tiling.tile_group import tile_groups


@register_pass
@dataclass(frozen=True)
class PadBlocks(Pass):
    """Pads what matmuls and their tails read to multiples of the L2 tile, and cuts the result back.

    The pad is part of the way into L2 later (npuflow-promote-operands); nothing is padded in L3. Blocks at an edge are
    padded in m and n where they are made, by npuflow-tile-blocks; K is padded here, with zeros that add nothing to a
    sum, and so is what is one block alone.

        %r = linalg.matmul ins(%a, %b : tensor<64x100xf32>, tensor<100x60xf32>) outs(%c : tensor<64x60xf32>)

    becomes

        %ap = tensor.pad %a low[0, 0] high[0, 28] : tensor<64x100xf32> to tensor<64x128xf32>
        %bp = tensor.pad %b low[0, 0] high[28, 4] : tensor<100x60xf32> to tensor<128x64xf32>
        %rp = linalg.matmul ins(%ap, %bp : ...) outs(%cp : tensor<64x64xf32>)
        %r = tensor.extract_slice %rp[0, 0] [64, 60] [1, 1] : tensor<64x64xf32> to tensor<64x60xf32>
    """

    name = "npuflow-pad-blocks"
    group = "tiling"
    tile: tuple[int, int, int] | None = option(
        None, "m,n,k that blocks are padded to multiples of; default: the strategy's tile-l2"
    )

    def run(self, op: ir.Operation, context: PassContext) -> None:
        todo = []
        for contraction in matmuls(op, context):
            sizes = required_sizes(self, contraction, context, self.tile, lambda strategy: strategy.tile_l2)
            if sizes is None:
                continue
            bundle, whole = bundle_of(contraction), contraction.loop_extents()
            roles = (contraction.m, contraction.n, contraction.k)
            tiles = {loops: padded(whole[loops[0]], tile) for loops, tile in zip(roles, sizes)}
            block = sizes_with(bundle, tiles)
            if block != bundle.sizes:
                todo.append((bundle, Cuts(block, block, block)))
        tile_groups(todo, context, "blocks padded")
