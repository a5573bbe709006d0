"""npuflow-tile-bundles: blocks of a bundle in time, one tile of each block per core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import Bundle, make_bundle, marked_groups, marks_problem
from npuflow.ops.bundle_ops import Problem
from npuflow.ops.kept_lines import rows_problem
from npuflow.ops.products import padded, pads_streamed
from npuflow.ops.streams import stream_of
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.mapping import spread_of
from npuflow.strategy.misfits import misfits
from npuflow.strategy.strategy import Strategy, strategy_of
from npuflow.tiling.cuts import COLUMNS, ROWS, Coordinate, Cuts
from npuflow.tiling.tile_group import tile_groups


@register_pass
@dataclass(frozen=True)
class TileBundles(Pass):
    """Makes loops over blocks and cores out of each bundle; streamed loops become loops inside of a core's part.

    A block's operands are slices, padded where windows or blocks reach over the edge; a core's are slices of those. Of
    streamed loops there are pieces for L2 that all cores share, and in these pieces for L1.

        %r = linalg.generic ... ins(%x : tensor<1000x64xf32>) outs(%e : tensor<1000x64xf32>)

    becomes

        %r = scf.for %b = %c0 to %c1000 step %c256 iter_args(%out = %e) {
          %block = tensor.pad (tensor.extract_slice %x[%b, 0] [%valid, 64]) high[%missing, 0]
          %t = scf.forall (%y, %x) in (4, 4) shared_outs(...) {
            %tile = tensor.extract_slice %block[%place, 0] [16, 64]
            %u = linalg.generic ... ins(%tile : tensor<16x64xf32>)
            scf.forall.in_parallel { tensor.parallel_insert_slice %u ... }
          } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
          %v = tensor.extract_slice %t[0, 0] [%valid, 64]
          tensor.insert_slice %v into %out[%b, 0] [%valid, 64]
    """

    name = "npuflow-tile-bundles"
    group = "tiling"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        groups = marked_groups(op)
        found = [(ops[-1], problem) for ops in groups for problem in _problems(ops)]
        for root, problem in found:
            context.error(root, *problem)
        bundles = [make_bundle(ops) for ops in groups if not found]
        todo = [(each, _cuts(each, strategy)) for each in bundles if (strategy := strategy_of(each.root)) is not None]
        tile_groups(todo, context, "bundles tiled")


def _problems(ops: Sequence[ir.Operation]) -> Iterator[Problem]:
    """What keeps marked ops from being tiled, each as (what, hint)."""
    problem = marks_problem(ops) or rows_problem(make_bundle(ops))
    strategy = strategy_of(ops[-1])
    if problem is not None:
        yield problem
    elif strategy is None:
        yield "a bundle has no strategy", "run npuflow-assign-strategy before"
    else:
        for obstacle in misfits(group_of_bundle(make_bundle(ops)), strategy, None):
            yield obstacle.message, obstacle.hint


def _cuts(bundle: Bundle, strategy: Strategy) -> Cuts:
    """What a strategy says of a bundle's loops; of those that are whole in a tile there is one piece."""
    spread = spread_of(strategy)
    tiles = [*strategy.tile_l1, *bundle.sizes[bundle.space :]]
    streamed = stream_of(bundle).loops
    for loop, tile in zip(streamed, strategy.stream):
        tiles[loop] = tile
    in_l2, block = list(tiles), spread.block(tiles)
    pads = pads_streamed(bundle)
    for loop, piece in zip(streamed, strategy.stream_l2 or strategy.stream):
        whole, in_l2[loop] = bundle.sizes[loop], piece
        block[loop] = padded(whole, piece) if pads else whole
    rows, columns = spread.grid
    before = tiles[spread.columns] * (rows if spread.rows == spread.columns else 1)
    grid = (
        Coordinate(spread.rows, rows, tiles[spread.rows], ROWS),
        Coordinate(spread.columns, columns, before, COLUMNS),
    )
    return Cuts(tuple(tiles), tuple(in_l2), tuple(block), strategy.order, grid, resident=True)
