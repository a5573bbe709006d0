"""npuflow-tile-cores: one tile of each block per core of the grid."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import Bundle, bundle_of
from npuflow.ops.contraction import Contraction, matmuls
from npuflow.strategy.strategy import Sizes, required_sizes, strategy_of
from npuflow.tiling.cuts import COLUMNS, ROWS, Coordinate, Cuts, sizes_with
from npuflow.tiling.tile_group import tile_groups


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
        todo = []
        for contraction in matmuls(op, context):
            sizes = required_sizes(self, contraction, context, self.tile, lambda strategy: strategy.tile_l1)
            if sizes is not None and _divides(contraction, sizes, context):
                todo.append(_over_cores(contraction, sizes))
        tile_groups(todo, context, "matmuls spread over cores")


def _divides(contraction: Contraction, sizes: Sizes, context: PassContext) -> bool:
    """Whether a block is a number of cores' tiles; reports it if not."""
    whole = contraction.loop_extents()
    for name, loops, tile in zip("mn", (contraction.m, contraction.n), sizes):
        if whole[loops[0]] % tile:
            what = f"a block's {name}={whole[loops[0]]} is no multiple of a core's tile, {tile}"
            context.error(contraction.op, what, "run npuflow-pad-blocks before")
            return False
    return True


def _over_cores(contraction: Contraction, sizes: Sizes) -> tuple[Bundle, Cuts]:
    bundle, strategy = bundle_of(contraction), strategy_of(contraction.op)
    tiles = sizes_with(bundle, {contraction.m: sizes[0], contraction.n: sizes[1]})
    loops = [bundle.loops[0][loop] for loop in (*contraction.m, *contraction.n)]
    threads = (COLUMNS, ROWS) if strategy is not None and strategy.turned else (ROWS, COLUMNS)
    counts = [bundle.sizes[loop] // tiles[loop] for loop in loops]
    grid = tuple(Coordinate(loop, n, tiles[loop], thread) for loop, n, thread in zip(loops, counts, threads))
    return bundle, Cuts(tiles, tiles, bundle.sizes, grid=grid, in_place=True)
