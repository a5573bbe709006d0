"""npuflow-tile-cores: one tile of each block per core of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import matmuls
from npuflow.strategy.strategy import required_sizes, strategy_of
from npuflow.tiling.tile_group import GroupTile, tile_groups


@register_pass
@dataclass(frozen=True)
class TileCores(Pass):
    """Spreads each block over the core grid with `scf.forall`: rows along m, columns along n.

    A strategy with `turned = 1` puts the array's columns along m instead.

        %r = linalg.matmul ins(%a, %b : tensor<64x2048xf32>, tensor<2048x64xf32>) outs(%c : tensor<64x64xf32>)

    becomes

        %r = scf.forall (%y, %x) in (2, 2) shared_outs(%out = %c) -> (tensor<64x64xf32>) {
          ...
          %t = linalg.matmul ins(%a_row, %b_column : tensor<32x2048xf32>, tensor<2048x32xf32>) outs(...)
          scf.forall.in_parallel { tensor.parallel_insert_slice %t into %out[...] [32, 32] [1, 1] }
        } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    """

    name = "npuflow-tile-cores"
    group = "tiling"
    tile: tuple[int, int] | None = option(None, "m,n of a core's tile; default: the strategy's tile-l1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        upright: list[GroupTile] = []
        turned: list[GroupTile] = []
        for contraction in matmuls(op, context):
            sizes = required_sizes(self, contraction, context, self.tile, lambda strategy: strategy.tile_l1)
            if sizes is not None:
                strategy = strategy_of(contraction.op)
                tiles = turned if strategy is not None and strategy.turned else upright
                tiles.append(GroupTile(contraction, sizes[0], sizes[1]))
        if not context.failed:
            tile_groups(op, upright, _rows_along_m)
            tile_groups(op, turned, _columns_along_m)
            context.count("matmuls spread over cores", len(upright) + len(turned))


def _rows_along_m(handle: str, sizes: Sequence[int]) -> str:
    return _forall(handle, sizes, "#gpu.thread<y>, #gpu.thread<x>")


def _columns_along_m(handle: str, sizes: Sequence[int]) -> str:
    return _forall(handle, sizes, "#gpu.thread<x>, #gpu.thread<y>")


def _forall(handle: str, sizes: Sequence[int], mapping: str) -> str:
    return (
        f"%tiled, %loop = transform.structured.tile_using_forall {handle} tile_sizes {list(sizes)}"
        f" (mapping = [{mapping}]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"
    )
