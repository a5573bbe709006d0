"""Tiling a whole group (fill, contraction, tail) with upstream's tiling, shared by blocks and cores.

The fill is taken off before and put back inside: upstream's fusion cannot follow a fill through `scf.for` arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import apply_steps, at, element_type_of, empty, fill, sizes_of
from npuflow.ops.contraction import INIT, Contraction, contractions, fill_of, operand_loops, producer, tail_of

TileStep = Callable[[str, Sequence[int]], str]


@dataclass(frozen=True)
class GroupTile:
    """What to do with one group: the tile of each loop role."""

    contraction: Contraction
    m: int
    n: int
    batch: int = 0


def tile_groups(root: ir.Operation, tiles: Sequence[GroupTile], step: TileStep) -> list[Contraction]:
    """Tiles every group; returns their contractions, now inside the loops, in the same order.

    `step(handle, sizes)` gives the transform op that tiles `handle`; it must name its innermost loop `%loop`.
    """
    fills = [_detach_fill(tile.contraction) for tile in tiles]
    for number, tile in enumerate(tiles):
        _mark(tile.contraction, number)
    for tile in tiles:
        _tile(tile, step)
    tiled: dict[int, Contraction] = {}
    for contraction in contractions(root):
        index = _marker(contraction)
        if index is None:
            continue
        if not any(True for _ in contraction.result.uses):
            contraction.op.erase()
            continue
        del contraction.op.attributes[_MARK]
        _attach_fill(contraction, fills[index])
        _free_tail(contraction)
        tiled[index] = contraction
    return [tiled[index] for index in range(len(tiles))]


_MARK = "npu.tiling"


def _mark(contraction: Contraction, index: int) -> None:
    kind = ir.IntegerType.get_signless(64, contraction.op.context)
    contraction.op.attributes[_MARK] = ir.IntegerAttr.get(kind, index)


def _marker(contraction: Contraction) -> int | None:
    attributes = contraction.op.attributes
    return int(ir.IntegerAttr(attributes[_MARK]).value) if _MARK in attributes else None


def _tile(tile: GroupTile, step: TileStep) -> None:
    contraction, tail = tile.contraction, tail_of(tile.contraction)
    sizes = contraction.by_role(tile.m, tile.n, 0, tile.batch)
    if tail is None:
        apply_steps(contraction.op, step("%op", sizes))
        return
    result_loops = operand_loops(contraction.op)[INIT]
    position = list(tail.operands).index(contraction.result)
    apply_steps(
        tail,
        f"%matmul = transform.get_producer_of_operand %op[{position}] : (!transform.any_op) -> !transform.any_op\n"
        f"{step('%op', [sizes[loop] for loop in result_loops])}\n"
        "%fused, %containing = transform.structured.fuse_into_containing_op %matmul into %loop"
        " : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)",
    )


def _detach_fill(contraction: Contraction) -> ir.Operation | None:
    found = fill_of(contraction)
    if found is not None:
        contraction.op.operands[INIT] = found.operands[1]
    return found


def _attach_fill(contraction: Contraction, found: ir.Operation | None) -> None:
    """Puts a fill of the tile in front of the tiled contraction."""
    if found is None:
        return
    slice_op = producer(contraction.init, "tensor.extract_slice")
    with at(contraction.op):
        element = element_type_of(contraction.init)
        target = contraction.init if slice_op is None else empty(sizes_of(slice_op), element)
        contraction.op.operands[INIT] = fill(found.operands[0], target)
    if slice_op is not None and not any(True for _ in slice_op.results[0].uses):
        slice_op.erase()


def _free_tail(contraction: Contraction) -> None:
    """Lets a tail that doesn't read its output start from an empty tile."""
    tail = tail_of(contraction)
    if tail is None or any(True for _ in tail.regions[0].blocks[0].arguments[-1].uses):
        return
    last = len(tail.operands) - 1
    slice_op = producer(tail.operands[last], "tensor.extract_slice")
    if slice_op is None:
        return
    with at(tail):
        tail.operands[last] = empty(sizes_of(slice_op), element_type_of(tail.operands[last]))
