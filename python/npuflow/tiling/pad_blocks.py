"""npuflow-pad-blocks: every block gets its full static shape, boundary blocks by padding."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir, tensor
from npuflow.core.build import (
    Mixed,
    at,
    difference,
    dynamic_marker,
    element_type_of,
    empty,
    extract_slice,
    fill,
    padded_by,
    shape_of,
    sizes_of,
    zero,
)
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import INIT, Contraction, matmuls, operand_loops, producer, tail_of
from npuflow.strategy.strategy import required_sizes


@register_pass
@dataclass(frozen=True)
class PadBlocks(Pass):
    """Pads the operands of blocks that don't have the whole tile's shape, and cuts the result back.

    The pad is part of the way into L2 later (npuflow-promote-operands); nothing is padded in L3. K is padded with
    zeros to a multiple of the L2 tile's k, so the padding adds nothing to a sum.

        %r = linalg.matmul ins(%a, %b : tensor<?x100xf32>, tensor<100x?xf32>) outs(%c : tensor<?x?xf32>)

    becomes

        %ap = tensor.pad %a low[0, 0] high[%hm, 28] : tensor<?x100xf32> to tensor<64x128xf32>
        %bp = tensor.pad %b low[0, 0] high[28, %hn] : tensor<100x?xf32> to tensor<128x64xf32>
        %rp = linalg.matmul ins(%ap, %bp : ...) outs(%cp : tensor<64x64xf32>)
        %r = tensor.extract_slice %rp[0, 0] [%m, %n] [1, 1] : tensor<64x64xf32> to tensor<?x?xf32>
    """

    name = "npuflow-pad-blocks"
    group = "tiling"
    tile: tuple[int, int, int] | None = option(
        None, "m,n,k that blocks are padded to multiples of; default: the strategy's tile-l2"
    )

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for contraction in matmuls(op, context, dynamic=True):
            sizes = required_sizes(self, contraction, context, self.tile, lambda strategy: strategy.tile_l2)
            if sizes is None or _has_unknown_sizes(contraction, context):
                continue
            if _pad_group(contraction, *sizes):
                context.count("blocks padded")


def _has_unknown_sizes(contraction: Contraction, context: PassContext) -> bool:
    """Reports an operand of dynamic shape that is no slice, whose sizes nothing tells."""
    unknown = [
        value
        for value in contraction.op.operands
        if dynamic_marker() in shape_of(value)
        and producer(value, "tensor.extract_slice", "tensor.empty", "linalg.fill") is None
    ]
    if unknown:
        what = f"{contraction.op.name} has a dynamic shape ({unknown[0].type}) that is no block of a static one"
        context.error(contraction.op, what, "make every size static, and run npuflow-tile-blocks before")
    return bool(unknown)


def _pad_group(contraction: Contraction, m: int, n: int, k: int) -> bool:
    """Pads one group in place; False if all its shapes are right already."""
    sizes = list(contraction.loop_sizes())
    wanted = list(sizes)
    for loops, tile in ((contraction.m, m), (contraction.n, n), (contraction.k, k)):
        for loop in loops:
            whole = tile if sizes[loop] == dynamic_marker() else sizes[loop]
            wanted[loop] = -(-whole // tile) * tile
    if wanted == sizes:
        return False
    result_loops = operand_loops(contraction.op)[INIT]
    result_shape = [wanted[loop] for loop in result_loops]
    tail = tail_of(contraction)
    valid = _valid_sizes(tail or contraction.op)
    padded = _pad_op(contraction.op, wanted, keep=None)
    if tail is not None:
        padded = _pad_op(tail, result_shape, keep=(contraction.result, padded))
    old = tail or contraction.op
    with at(old):
        cut = extract_slice(padded, [0] * len(valid), valid)
    old.results[0].replace_all_uses_with(cut)
    for op in [tail, contraction.op]:
        if op is not None:
            op.erase()
    return True


def _valid_sizes(op: ir.Operation) -> list[Mixed]:
    """The sizes of an op's result: where it is dynamic those of the slice it is inserted into, else of its output."""
    shape: list[Mixed] = list(shape_of(op.results[0]))
    if dynamic_marker() not in shape:
        return shape
    for use in op.results[0].uses:
        if use.owner.operation.name == "tensor.insert_slice":
            return sizes_of(use.owner.operation)
    output = op.operands[len(op.operands) - 1]
    with at(op):
        return [s if s != dynamic_marker() else _dimension(output, i) for i, s in enumerate(shape)]


def _dimension(value: ir.Value, index: int) -> ir.Value:
    return tensor.DimOp(value, arith.ConstantOp.create_index(index)).result


def _pad_op(op: ir.Operation, wanted: list[int], keep: tuple[ir.Value, ir.Value] | None) -> ir.Value:
    """A clone of a linalg op on operands padded to `wanted` loop sizes; `keep` maps an operand padded already."""
    loops = operand_loops(op)
    with at(op):
        operands = []
        for value, dims in zip(op.operands, loops):
            if keep is not None and value == keep[0]:
                operands.append(keep[1])
            elif not isinstance(value.type, ir.ShapedType) or not dims:
                operands.append(value)
            else:
                have = shape_of(value)
                operands.append(_padded(value, [wanted[d] if d >= 0 else size for d, size in zip(dims, have)]))
        clone = op.clone()
        for index, value in enumerate(operands):
            clone.operation.operands[index] = value
        clone.operation.results[0].set_type(operands[-1].type)
        return clone.operation.results[0]


def _padded(value: ir.Value, shape: list[int]) -> ir.Value:
    """`value` with zeros behind it up to `shape`; fills and empty tensors are made in that shape instead."""
    have = shape_of(value)
    if have == shape:
        return value
    filled = producer(value, "linalg.fill")
    if filled is not None:
        return fill(filled.operands[0], empty(shape, element_type_of(value)))
    if producer(value, "tensor.empty") is not None:
        return empty(shape, element_type_of(value))
    slice_op = producer(value, "tensor.extract_slice")
    sizes: list[Mixed] = list(have) if slice_op is None else sizes_of(slice_op)
    high = [difference(want, size) for want, size in zip(shape, sizes)]
    return padded_by(value, [0] * len(high), high, zero(element_type_of(value)), shape)
