"""npuflow-fuse-results: what reshapes and turns a matmul's result is done on the matmul's tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir, tensor
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, reassociation_of, shape_of
from npuflow.core.copies import erase_unused
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.ops.bundle import free_numbers, make_bundle, mark_bundle
from npuflow.ops.contraction import (
    BUNDLE,
    STRATEGY,
    Contraction,
    is_elementwise,
    only_user,
    open_matmuls,
    operand_loops,
    producer,
)
from npuflow.ops.linear import input_count, iterators, loop_extents, maps_of, set_maps
from npuflow.ops.products import keep_reshaped
from npuflow.strategy.bundle_times import bundle_seconds, matmul_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

_EXPAND = "tensor.expand_shape"


@register_pass
@dataclass(frozen=True)
class FuseResults(Pass):
    """Makes a matmul and an elementwise op that turns its result a bundle, where that is estimated to be faster.

    A head's part of what is projected is such a result: reshaped, so that heads have a dimension, and turned, so that
    this is in front. The matmul gets a loop for each dimension, and its sums are turned where they lie; an engine of
    patches writes them in the order of dimensions that is asked for.

        %r = linalg.matmul ins(%x, %w : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(...)
        %h = tensor.expand_shape %r [[0], [1, 2]] ... into tensor<64x4x8xf32>
        %t = linalg.generic {indexing_maps = [(h, i, d) -> (i, h, d), ...]} ins(%h : ...) { arith.truncf }

    becomes

        %v = tensor.expand_shape %w [[0], [1, 2]] ... into tensor<32x4x8xbf16>
        %h = linalg.generic ... ins(%x, %v : ...) outs(... : tensor<64x4x8xf32>) attrs = {npu.bundle = 0} ...
        %t = linalg.generic ... ins(%h : ...) attrs = {npu.bundle = 0} { arith.truncf }
    """

    name = "npuflow-fuse-results"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device, said = planned_device(op, self.device), Strategy(depth_between=self.depth_between)
        for function in ops_of(op, "func.func"):
            for matmul in open_matmuls(function):
                if (turning := _turning(matmul)) is not None:
                    _decide(function, turning, device, said, context)


@dataclass(frozen=True)
class _Turning:
    """An op that reads a matmul's result as its operand `place`, behind `reshape` if there is one."""

    matmul: Contraction
    reshape: ir.Operation | None
    op: ir.Operation
    place: int


def _turning(matmul: Contraction) -> _Turning | None:
    """The elementwise op that alone reads a matmul's result, reshaped or turned."""
    value = matmul.op.results[0]
    user = only_user(value)
    reshape = user if user is not None and user.name == _EXPAND else None
    if reshape is not None:
        value = reshape.results[0]
        user = only_user(value)
    if user is None or BUNDLE in user.attributes or STRATEGY in user.attributes or not is_elementwise(user):
        return None
    loops, place = operand_loops(user), list(user.operands).index(value)
    is_turned = reshape is not None or loops[place] != loops[-1]
    is_whole = place < input_count(user) and sorted(loops[place]) == sorted(loops[-1])
    is_plain = all(loop >= 0 for own in operand_loops(matmul.op) for loop in own)
    return _Turning(matmul, reshape, user, place) if is_turned and is_whole and is_plain else None


def _decide(function: ir.Operation, turning: _Turning, device: Device, said: Strategy, context: PassContext) -> None:
    """Puts the two in one bundle if that is faster."""
    matmul, user = turning.matmul, turning.op
    alone = (matmul_seconds(matmul, device, said), bundle_seconds(make_bundle([user]), device, said))
    if None in alone:
        return
    apart = sum(seconds for seconds in alone if seconds is not None)
    maps, before = maps_of(user), user.operands[turning.place]
    made = _with_loops(turning, turns=device.patch_engine.is_known)
    user.operands[turning.place] = made.results[0]
    bundle = make_bundle([made, user])
    together = bundle_seconds(bundle, device, said) if bundle.space else None
    if together is None or together >= apart:
        user.operands[turning.place] = before
        set_maps(user, maps)
        erase_unused([made])
        return
    context.remark(user, f"is done on a matmul's tiles: that takes an estimated {together / apart:.2f} of the time")
    context.count("results turned")
    mark_bundle([made, user], next(free_numbers(function)))
    erase_unused([matmul.op if turning.reshape is None else turning.reshape])


def _with_loops(turning: _Turning, *, turns: bool) -> ir.Operation:
    """The matmul once more, with a loop for each dimension that its result is reshaped to, which it may turn."""
    op, reshape = turning.matmul.op, turning.reshape
    loops, kinds = operand_loops(op), iterators(op)
    sizes = {loop: [extent] for loop, extent in enumerate(loop_extents(op))}
    if reshape is not None:
        shape = shape_of(reshape.results[0])
        sizes |= {loop: [shape[d] for d in dims] for loop, dims in zip(loops[-1], reassociation_of(reshape))}
    count = sum(map(len, sizes.values()))
    with at(turning.op):
        numbers = iter([ir.AffineExpr.get_dim(loop) for loop in range(count)])
        parts = {loop: [next(numbers) for _ in own] for loop, own in sizes.items()}
        values = [_split(value, [sizes[loop] for loop in own]) for value, own in zip(op.operands, loops)]
        dims = [[part for loop in own for part in parts[loop]] for own in loops]
        filled = producer(values[2], "linalg.fill")
        if turns and filled is not None:
            order = _read_in_place(turning)
            shape = shape_of(values[2])
            values[2] = fill(filled.operands[0], empty([shape[d] for d in order], element_type_of(values[2])))
            dims[2] = [dims[2][d] for d in order]
        maps = [ir.AffineMap.get(count, 0, own) for own in dims]
        made = generic_op(values[:2], values[2:], maps, [kinds[loop] for loop in sizes for _ in sizes[loop]])
        copy = op.clone().operation
    copy.regions[0].blocks[0].append_to(made.regions[0])
    copy.erase()
    keep_reshaped(op, made)
    return made


def _read_in_place(turning: _Turning) -> list[int]:
    """The order of a result's dimensions in which its reader writes them; it reads them so from now on."""
    maps, loops = maps_of(turning.op), operand_loops(turning.op)
    maps[turning.place] = maps[-1]
    set_maps(turning.op, maps)
    return [loops[turning.place].index(loop) for loop in loops[-1]]


def _split(value: ir.Value, sizes: Sequence[Sequence[int]]) -> ir.Value:
    """A tensor with some of its dimensions in parts; what is filled is made so."""
    shape = [size for each in sizes for size in each]
    if len(shape) == len(sizes):
        return value
    filled = producer(value, "linalg.fill")
    if filled is not None:
        return fill(filled.operands[0], empty(shape, element_type_of(value)))
    numbers = iter(range(len(shape)))
    groups = [[next(numbers) for _ in each] for each in sizes]
    kind = ir.RankedTensorType.get(shape, element_type_of(value))
    return tensor.ExpandShapeOp(kind, value, groups, [], shape).result
