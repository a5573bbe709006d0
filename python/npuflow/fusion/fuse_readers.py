"""npuflow-fuse-readers: what is computed of a result that others read too, element by element, is computed with it."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg, tensor
from npuflow.core.build import at, element_type_of, empty, generic_op, reassociation_of, shape_of
from npuflow.core.copies import erase_unused
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.fusion.inline_producer import copied_body
from npuflow.network.groups import groups_of
from npuflow.ops.bundle import make_bundle
from npuflow.ops.contraction import BUNDLE, STRATEGY, is_elementwise, users
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.reshapes import readers, reshapes_of, unreshaped
from npuflow.strategy.bundle_times import GrowthOn, bundle_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class FuseReaders(Pass):
    """Makes an elementwise op and one that reads its result, as others do, one op with two results, where faster.

    A cache that a new token's keys are appended to is returned, and rounded for the attention that reads it: alone, the
    rounding would read all of it again. The state of a recurrence is read by the next step, and by this one's output,
    which may read other things element by element, too: as far as they are there before the others read the state.

        %a = linalg.generic ... ins(%x, %y : tensor<64x32xf32>, ...) { arith.addf }
        %b = linalg.generic ... ins(%a : tensor<64x32xf32>) { arith.truncf }
        return %a, %b : tensor<64x32xf32>, tensor<64x32xbf16>

    becomes

        %ab:2 = linalg.generic ... ins(%x, %y : tensor<64x32xf32>, ...) { arith.addf arith.truncf }
        return %ab#0, %ab#1 : tensor<64x32xf32>, tensor<64x32xbf16>
    """

    name = "npuflow-fuse-readers"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for function in ops_of(op, "func.func"):
            makers = [maker for maker in ops_of(function, "linalg.generic") if _is_open(maker) and _readers(maker)]
            groups = groups_of(function, GrowthOn(device)) if makers else []
            alone = {group.root.results[0] for group in groups if len(group.whole) == 1}
            replaced = list[ir.Operation]()
            for maker in (maker for maker in makers if maker.results[0] in alone):
                found = (each for each in _readers(maker) if each.results[0] in alone and each not in replaced)
                reader = next(found, None)  # as it is by now: others were joined since
                if reader is not None and maker not in replaced and _decide(maker, reader, device, context):
                    replaced += [reader, maker]
            erase_unused(replaced)


def _is_open(op: ir.Operation) -> bool:
    """Whether an op is elementwise, makes one tensor, and may become something else."""
    is_free = BUNDLE not in op.attributes and STRATEGY not in op.attributes
    return op.name == "linalg.generic" and is_free and is_elementwise(op)


def _readers(maker: ir.Operation) -> list[ir.Operation]:
    """What computes something of each element of a result that others read too, and can be computed with it."""
    (result,) = maker.results
    found = readers(result)
    return [each for each in found if len(found) > 1 and _is_open(each) and _may_join(maker, each)]


def _may_join(maker: ir.Operation, reader: ir.Operation) -> bool:
    """Whether an op makes each element of the same one of a result, and of others that are there before anybody reads.

    What it reads besides would have to be reshaped as well where it reads that in another shape.
    """
    (result,), (block,), maps = maker.results, reader.regions[0].blocks, maps_of(reader)
    place = _place_in(reader, result)
    if place is None or maps[place] != maps[-1] or (input_count(reader) > 1 and reader.operands[place] != result):
        return False
    own = {*block.arguments, *(made for inner in block.operations for made in inner.results)}
    if list(block.arguments[-1].uses) or any(
        value not in own for inner in block.operations for value in inner.operands
    ):
        return False
    last = _last_of(maker, reader, place)
    return last.block == maker.block and all(last.is_before_in_block(user) for user in users(result) if user != reader)


def _place_in(reader: ir.Operation, result: ir.Value) -> int | None:
    """The input by which an op reads a result, in whatever shape; None where it is none, or several are."""
    inputs = list(reader.operands)[: input_count(reader)]
    found = [number for number, value in enumerate(inputs) if unreshaped(value) == result]
    return found[0] if len(found) == 1 else None


def _others(reader: ir.Operation, place: int) -> list[tuple[ir.Value, ir.AffineMap]]:
    """What an op reads but for one input, and how."""
    found = list(zip(list(reader.operands)[: input_count(reader)], maps_of(reader)))
    return [*found[:place], *found[place + 1 :]]


def _last_of(maker: ir.Operation, reader: ir.Operation, place: int) -> ir.Operation:
    """The last of an op and of those that make what its reader reads besides."""
    last = maker
    for value, _ in _others(reader, place):
        if not isinstance(value.owner, ir.Block) and last.is_before_in_block(value.owner.operation):
            last = value.owner.operation
    return last


def _decide(maker: ir.Operation, reader: ir.Operation, device: Device, context: PassContext) -> bool:
    """Makes the two one op, if that is faster."""
    place = _place_in(reader, maker.results[0])
    assert place is not None, "it reads the result once"
    apart = [bundle_seconds(make_bundle([op]), device, Strategy()) for op in (maker, reader)]
    made = _joined(maker, reader, place)
    together = bundle_seconds(make_bundle([made]), device, Strategy())
    known = [seconds for seconds in apart if seconds is not None]
    if together is None or len(known) < len(apart) or together >= sum(known):
        erase_unused([made])
        return False
    share = together / sum(known)
    context.remark(reader, f"is computed where what it reads is made: that takes an estimated {share:.2f} of the time")
    context.count("readers fused")
    first, second = made.results
    with at(made, after=True):
        for reshape in reversed(reshapes_of(reader.operands[place])):
            second = _reshaped(second, reshape)
    maker.results[0].replace_all_uses_with(first)
    reader.results[0].replace_all_uses_with(second)
    return True


def _joined(maker: ir.Operation, reader: ir.Operation, place: int) -> ir.Operation:
    """The op that makes both results, as soon as what they are made of is there."""
    kind, count, maps = element_type_of(reader.results[0]), input_count(maker), maps_of(maker)
    read, others = list(zip(list(maker.operands)[:count], maps)), _others(reader, place)
    read += [one for one in others if one not in read]
    inputs = [value for value, _ in read]
    with at(_last_of(maker, reader, place), after=True):
        outputs = [*list(maker.operands)[count:], empty(shape_of(maker.results[0]), kind)]
        made = generic_op(inputs, outputs, [*(map_ for _, map_ in read), maps[-1], maps[-1]], iterators(maker))
        kinds = [element_type_of(value) for value in (*inputs, *outputs)]
        block = made.regions[0].blocks.append(*kinds, arg_locs=[maker.location] * len(kinds))
    with ir.InsertionPoint(block), maker.location:
        arguments = list(block.arguments)
        first = copied_body(maker, arguments[:count])
        beside = [arguments[read.index(one)] for one in others]
        linalg.YieldOp([first, copied_body(reader, [*beside[:place], first, *beside[place:]])])
    return made


def _reshaped(value: ir.Value, reshape: ir.Operation) -> ir.Value:
    """A value in the shape that another one gets."""
    shape, groups = shape_of(reshape.results[0]), reassociation_of(reshape)
    kind = ir.RankedTensorType.get(shape, element_type_of(value))
    if reshape.name == "tensor.collapse_shape":
        return tensor.CollapseShapeOp(kind, value, groups).result
    return tensor.ExpandShapeOp(kind, value, groups, [], shape).result
