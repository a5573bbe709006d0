"""npuflow-pack-blocks: L2 buffers laid out tile by tile."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg
from npuflow.core.build import (
    Mixed,
    allocate,
    at,
    element_type_of,
    extract_slice,
    fill,
    insert_slice,
    offsets_of,
    quotient,
    quotient_up,
    shape_of,
    sizes_of,
    zero,
)
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import LHS, RHS, Contraction, contractions, operand_loops, producer
from npuflow.promotion.shared_slices import L2


@register_pass
@dataclass(frozen=True)
class PackBlocks(Pass):
    """Lays operands out in L2 tile by tile, in the tiles that cores read: the movement from L3 becomes a pack.

    Runs after npuflow-promote-operands and the K loops of both levels. Boundary tiles are padded by the pack.

        %l2 = linalg.copy ins(%block : tensor<64x256xf32>) outs(%buffer : tensor<64x256xf32>)
        %tile = tensor.extract_slice %l2[%row, %k] [32, 32] [1, 1]

    becomes

        %l2 = linalg.pack %block inner_dims_pos = [0, 1] inner_tiles = [32, 32] into %buffer
          : tensor<64x256xf32> -> tensor<2x8x32x32xf32>
        %tile = tensor.extract_slice %l2[%row / 32, %k / 32, 0, 0] [1, 1, 32, 32] [1, 1, 1, 1]
    """

    name = "npuflow-pack-blocks"
    group = "promotion"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for contraction in contractions(op):
            for index in (LHS, RHS):
                if not contraction.is_packed and _pack(contraction, index):
                    context.count("L2 buffers packed")


def _pack(contraction: Contraction, index: int) -> bool:
    """Packs one operand's L2 buffer; False where the operand doesn't come from one."""
    operand = contraction.op.operands[index]
    tile = shape_of(operand)
    offsets: list[Mixed] = [0] * len(tile)
    value = operand
    while (slice_op := producer(value, "tensor.extract_slice")) is not None:
        for d, offset in enumerate(offsets_of(slice_op)):
            if offset != 0:
                offsets[d] = offset
        value = slice_op.operands[0]
    found = producer(value, "linalg.copy", "tensor.insert_slice")
    if found is None:
        return False
    loops = operand_loops(contraction.op)[index]
    front = next(d for d, loop in enumerate(loops) if loop not in contraction.batch)
    dims = list(range(front, len(loops)))  # a batch in between, as a split sum has, is part of the tile
    with at(found):
        packed = _packed_movement(found, shape_of(value), tile, dims)
    if packed is None:
        return False
    with at(contraction.op):
        place = [quotient(offsets[d], tile[d]) if d in dims else offsets[d] for d in range(len(tile))]
        ones = [1 if d in dims else tile[d] for d in range(len(tile))]
        contraction.op.operands[index] = extract_slice(
            packed, [*place, *[0] * len(dims)], [*ones, *(tile[d] for d in dims)], shape=tile
        )
    return True


def _packed_movement(found: ir.Operation, whole: list[int], tile: list[int], dims: list[int]) -> ir.Value | None:
    """The movement as a pack; `found` is a copy of a full block, or the insertion of a partial one into zeros."""
    copy = found if found.name == "linalg.copy" else producer(found.operands[0], "linalg.copy")
    if copy is None:
        return None
    source = copy.operands[0]
    element = element_type_of(source)
    inner = [tile[d] for d in dims]
    outer = [-(-size // tile[d]) if d in dims else size for d, size in enumerate(whole)]
    buffer = allocate([*outer, *inner], element, L2)
    if found is copy:
        return linalg.pack(source, buffer, dims, inner)
    part = producer(copy.operands[1], "tensor.extract_slice")
    if part is None:
        return None
    filled = fill(zero(element), buffer)
    valid = [quotient_up(size, tile[d]) if d in dims else size for d, size in enumerate(sizes_of(part))]
    sizes: list[Mixed] = [*valid, *inner]
    start = [0] * len(sizes)
    target = extract_slice(filled, start, sizes)
    packed = linalg.pack(source, target, dims, inner, padding_value=zero(element))
    return insert_slice(packed, filled, start, sizes)
