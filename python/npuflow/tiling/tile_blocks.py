"""npuflow-tile-blocks: a temporal loop nest over blocks of the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import at, element_type_of, empty, shape_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import Contraction, fill_of, matmuls, producer, tail_of
from npuflow.strategy.strategy import required_sizes
from npuflow.tiling.tile_group import GroupTile, tile_groups


@register_pass
@dataclass(frozen=True)
class TileBlocks(Pass):
    """Tiles each matmul with its fill and tail into blocks of the L2 tile, one after the other.

    Batch loops are tiled by one. An accumulator that is not filled is read from where it comes from, so that the
    result's buffer is only written.

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
        tiles: list[GroupTile] = []
        for contraction in matmuls(op, context):
            sizes = required_sizes(self, contraction, context, self.tile, lambda strategy: strategy.tile_l2)
            if sizes is not None:
                tiles.append(GroupTile(contraction, sizes[0], sizes[1], batch=1))
        if context.failed:
            return
        filled = [fill_of(tile.contraction) is not None for tile in tiles]
        tailed = [tail_of(tile.contraction) is not None for tile in tiles]
        for contraction, has_fill, has_tail in zip(tile_groups(op, tiles, _loops), filled, tailed):
            context.count("matmuls tiled into blocks")
            if not has_fill and not has_tail:
                _read_init_from_outside(contraction)


def _loops(handle: str, sizes: Sequence[int]) -> str:
    loops = [f"%loop{i}" for i in range(sum(1 for size in sizes if size))]
    loops[-1] = "%loop"
    results = ", ".join(["!transform.any_op"] * (len(loops) + 1))
    return (
        f"%tiled, {', '.join(loops)} = transform.structured.tile_using_for {handle} tile_sizes {list(sizes)}"
        f" : (!transform.any_op) -> ({results})"
    )


def _read_init_from_outside(contraction: Contraction) -> None:
    """Makes the loops' carried result start empty, and the accumulator's slice come from the original value."""
    slice_op = producer(contraction.init, "tensor.extract_slice")
    if slice_op is None:
        return
    value = slice_op.operands[0]
    while isinstance(value, ir.BlockArgument):
        loop = value.owner.owner.operation
        if loop.name != "scf.for":
            break
        operand = 2 + value.arg_number
        outer = loop.operands[operand]
        if not isinstance(outer, ir.BlockArgument) or outer.owner.owner.operation.name != "scf.for":
            slice_op.operands[0] = outer
            with at(loop):
                loop.operands[operand] = empty(shape_of(outer), element_type_of(outer))
            break
        value = outer
