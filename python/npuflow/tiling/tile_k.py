"""npuflow-tile-k: K in time, at one memory level."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import bundle_of
from npuflow.ops.contraction import matmuls
from npuflow.strategy.strategy import Strategy, required_sizes
from npuflow.tiling.cuts import Cuts, sizes_with
from npuflow.tiling.tile_group import tile_groups


class KLevel(Enum):
    """A memory that holds a piece of K at a time."""

    L2 = "l2"
    L1 = "l1"


@register_pass
@dataclass(frozen=True)
class TileK(Pass):
    """Streams K: a loop over pieces of K that carries the accumulator.

        %r = linalg.matmul ins(%a, %b : tensor<32x2048xf32>, tensor<2048x32xf32>) outs(%c : tensor<32x32xf32>)

    becomes

        %r = scf.for %k = %c0 to %c2048 step %c256 iter_args(%acc = %c) -> (tensor<32x32xf32>) {
          %a_k = tensor.extract_slice %a[0, %k] [32, 256] [1, 1]
          %b_k = tensor.extract_slice %b[%k, 0] [256, 32] [1, 1]
          %t = linalg.matmul ins(%a_k, %b_k : ...) outs(%acc : tensor<32x32xf32>)
          scf.yield %t
    """

    name = "npuflow-tile-k"
    group = "tiling"
    level: KLevel = option(KLevel.L2, "whose tile of the strategy to use")
    tile: int | None = option(None, "size of a piece of K; default: the strategy's")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        todo = []
        for contraction in matmuls(op, context):
            given = None if self.tile is None else (self.tile,)
            sizes = required_sizes(self, contraction, context, given, self._strategy_k)
            if sizes is not None:
                bundle = bundle_of(contraction, with_tail=False)
                piece = min(sizes[0], contraction.loop_extents()[contraction.k[0]])
                tiles = sizes_with(bundle, {contraction.k: piece})
                todo.append((bundle, Cuts(tiles, bundle.sizes, bundle.sizes, even_one=True)))
        tile_groups(todo, context, "K loops made")

    def _strategy_k(self, strategy: Strategy) -> tuple[int]:
        return (strategy.tile_l2[2] if self.level is KLevel.L2 else strategy.tile_l1[2],)
