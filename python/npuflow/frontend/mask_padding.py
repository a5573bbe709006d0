"""npuflow-mask-padding: padding by another value than zero becomes padding by zeros, and a mask."""

from __future__ import annotations

import math
from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.build import all_true, at, dynamic_marker, element_type_of, empty, moved, padded_by, shape_of, zero
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.add_inputs import add_inputs
from npuflow.frontend.signs import never_negative
from npuflow.ops.bundle_ops import is_input
from npuflow.ops.contraction import only_user, producer
from npuflow.ops.linear import Linear, input_count, iterators, linear_dims, loop_extents, maps_of


@register_pass
@dataclass(frozen=True)
class MaskPadding(Pass):
    """Rewrites padding by constants other than zero, which transfers cannot insert.

        %p = tensor.pad %x low[0, 1] high[0, 1] { tensor.yield %lowest } : tensor<4x8xf32> to tensor<4x10xf32>
        %r = linalg.generic ... ins(%p, ...) { ^bb0(%in: f32, ...): arith.maximumf %out, %in }

    becomes

        %p = tensor.pad %x low[0, 1] high[0, 1] { tensor.yield %zero } : tensor<4x8xf32> to tensor<4x10xf32>
        %m = tensor.pad %ones low[1] high[1] { tensor.yield %zero } : tensor<8xi8> to tensor<10xi8>
        %r = linalg.generic ... ins(%p, ..., %m) { %v = select (%mask is 0), %lowest, %in ... }

    with one mask of ones for each padded dimension, indexed as that dimension is. Who is no linalg.generic that reads
    the padded tensor, a return for one, gets it from one that does nothing else. No mask is needed where windows take
    the greatest of what is never negative, behind a ReLU for one, and none lies in the padding alone: zeros do.
    """

    name = "npuflow-mask-padding"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for pad in ops_of(op, "tensor.pad"):
            value = _padding_value(pad)
            if value is None or _is_zero(value) or not _is_static(pad):
                continue
            if _may_be_zero(pad, value):
                with at(pad):
                    padded = padded_by(pad.operands[0], *_widths(pad), zero(element_type_of(pad.results[0])))
                _put(pad, padded)
                continue
            _compute_for_others(pad)
            users = [use.owner.operation for use in pad.results[0].uses]
            _mask(pad, value, list(dict.fromkeys(users)))
            context.count("pads masked")


def _padding_value(pad: ir.Operation) -> ir.Attribute | None:
    """The number that a tensor is padded with; None where it is no constant."""
    block = pad.regions[0].blocks[0]
    constant = producer(block.operations[len(block.operations) - 1].operands[0], "arith.constant")
    value = None if constant is None else constant.attributes["value"]
    return value if isinstance(value, (ir.IntegerAttr, ir.BoolAttr, ir.FloatAttr)) else None


def _is_zero(value: ir.Attribute) -> bool:
    """Whether all bits of a constant are 0, which -0.0's are not."""
    if isinstance(value, ir.FloatAttr):
        return value.value == 0 and math.copysign(1, value.value) > 0
    return bool(value.value == 0)


def _is_static(pad: ir.Operation) -> bool:
    low, high = _widths(pad)
    return bool(pad.results[0].type.has_static_shape) and dynamic_marker() not in (*low, *high)


def _widths(pad: ir.Operation) -> tuple[list[int], list[int]]:
    """How many elements are put before and behind each dimension."""
    low, high = (list(ir.DenseI64ArrayAttr(pad.attributes[name])) for name in ("static_low", "static_high"))
    return low, high


def _compute_for_others(pad: ir.Operation) -> None:
    """Lets whoever is no linalg.generic's input read what one makes of the padded tensor, element by element."""
    padded = pad.results[0]
    uses = [(use.owner.operation, use.operand_number) for use in padded.uses]
    others = [(user, index) for user, index in uses if not is_input(user, index)]
    if not others:
        return
    same = ir.AffineMap.get_identity(len(shape_of(padded)))
    with at(pad, after=True):
        computed = moved(padded, empty(shape_of(padded), element_type_of(padded)), same, same)
    for user, index in others:
        user.operands[index] = computed


def _mask(pad: ir.Operation, value: ir.Attribute, users: list[ir.Operation]) -> None:
    """Pads by zeros, and lets the users put the value where the masks are 0."""
    with at(pad):
        source = pad.operands[0]
        padded = padded_by(source, *_widths(pad), zero(element_type_of(source)))
        masks = {d: _mask_of(pad, d) for d, (low, high) in enumerate(zip(*_widths(pad))) if low or high}
    for user in users:
        _read_masked(user, pad.results[0], masks, value)
    _put(pad, padded)


def _put(pad: ir.Operation, padded: ir.Value) -> None:
    pad.results[0].replace_all_uses_with(padded)
    pad.erase()


def _may_be_zero(pad: ir.Operation, value: ir.Attribute) -> bool:
    """Whether zeros do as well as a negative number: who reads them finds something greater, or as great, beside it."""
    if not isinstance(value, ir.FloatAttr) or not value.value < 0 or not never_negative(pad.operands[0]):
        return False
    return all(_takes_greatest(use.owner.operation, use.operand_number, pad) for use in pad.results[0].uses)


def _takes_greatest(op: ir.Operation, number: int, pad: ir.Operation) -> bool:
    """Whether an op takes the greatest element of each of its windows, none of which is in the padding alone."""
    if not is_input(op, number) or len(op.results) != 1:
        return False
    block, dims = op.regions[0].blocks[0], linear_dims(maps_of(op)[number])
    greatest = block.operations[len(block.operations) - 1].operands[0].owner
    if isinstance(greatest, ir.Block) or greatest.name != "arith.maximumf" or dims is None:
        return False
    read, total = block.arguments[number], block.arguments[len(block.arguments) - 1]
    if set(map(_unextended, greatest.operands)) != {read, total} or only_user(read) is None:
        return False
    sizes = zip(dims, *_widths(pad), shape_of(pad.operands[0]))
    return all(_reaches(op, dim, low, size) for dim, low, high, size in sizes if low or high)


def _unextended(value: ir.Value) -> ir.Value:
    extension = producer(value, "arith.extf")
    return value if extension is None else extension.operands[0]


def _reaches(op: ir.Operation, dim: Linear, low: int, size: int) -> bool:
    """Whether all windows along a dimension have an element of those behind so many that are padding."""
    kinds, extents = iterators(op), loop_extents(op)
    window = [(loop, step) for loop, step in dim.terms if kinds[loop] == "reduction"]
    others = [(loop, step) for loop, step in dim.terms if kinds[loop] == "parallel"]
    if len(window) != 1 or window[0][1] != 1 or len(others) != 1 or dim.constant or others[0][1] < 1:
        return False
    last = others[0][1] * (extents[others[0][0]] - 1)
    return extents[window[0][0]] > low and last < low + size


def _mask_of(pad: ir.Operation, dimension: int) -> ir.Value:
    """Ones along a dimension, padded by zeros as the dimension is."""
    i8 = ir.IntegerType.get_signless(8)
    low, high = (widths[dimension] for widths in _widths(pad))
    size = shape_of(pad.operands[0])[dimension]
    kind = ir.RankedTensorType.get([size], i8)
    ones = arith.ConstantOp(kind, ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(i8, 1))).result
    return padded_by(ones, [low], [high], zero(i8))


def _read_masked(op: ir.Operation, padded: ir.Value, masks: dict[int, ir.Value], value: ir.Attribute) -> None:
    """Gives a linalg.generic the masks of every input that is `padded`, and lets its body select."""
    first, maps = input_count(op), maps_of(op)
    read = [index for index in range(first) if op.operands[index] == padded]
    extra_maps = [ir.AffineMap.get(maps[i].n_dims, 0, [maps[i].results[d]]) for i in read for d in masks]
    block = add_inputs(op, list(masks.values()) * len(read), extra_maps).regions[0].blocks[0]
    for number, index in enumerate(read):
        begin = first + number * len(masks)
        _select(block, block.arguments[index], list(block.arguments)[begin : begin + len(masks)], value)


def _select(block: ir.Block, read: ir.Value, masks: list[ir.Value], value: ir.Attribute) -> None:
    """Puts `value` in the place of what is read where any of the masks is 0."""
    with ir.InsertionPoint.at_block_begin(block), block.owner.location:
        exists = all_true(masks)
        is_missing = arith.CmpIOp(arith.CmpIPredicate.eq, exists, zero(exists.type)).result
        selected = arith.SelectOp(is_missing, arith.ConstantOp(read.type, value).result, read)
    read.replace_all_uses_except(selected.result, [selected.operation])
