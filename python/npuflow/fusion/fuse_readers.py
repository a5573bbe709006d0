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
from npuflow.ops.contraction import BUNDLE, STRATEGY, is_elementwise
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
    rounding would read all of it again.

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
            read = {maker: _readers(maker) for maker in ops_of(function, "linalg.generic") if _is_open(maker)}
            groups = groups_of(function, GrowthOn(device)) if any(read.values()) else []
            alone = [group.root for group in groups if len(group.whole) == 1]
            replaced: list[ir.Operation] = []
            for maker in (one for one in alone if one in read):
                reader = next((each for each in read[maker] if each in alone), None)
                if reader is not None and maker not in replaced and _decide(maker, reader, device, context):
                    replaced += [reader, maker]
            erase_unused(replaced)


def _is_open(op: ir.Operation) -> bool:
    """Whether an op is elementwise, makes one tensor, and may become something else."""
    is_free = BUNDLE not in op.attributes and STRATEGY not in op.attributes
    return op.name == "linalg.generic" and is_free and is_elementwise(op)


def _readers(maker: ir.Operation) -> list[ir.Operation]:
    """What computes something of each element of a result that others read too, and reads nothing else."""
    (result,) = maker.results
    found = readers(result)
    open_ = [each for each in found if _is_open(each) and _is_by_element(each)] if len(found) > 1 else []
    return [each for each in open_ if unreshaped(each.operands[0]) == result]


def _is_by_element(op: ir.Operation) -> bool:
    """Whether an op makes each element of the same one of its only input, and of nothing from outside of its body."""
    (block,), maps = op.regions[0].blocks, maps_of(op)
    own = {*block.arguments, *(result for inner in block.operations for result in inner.results)}
    is_closed = all(value in own for inner in block.operations for value in inner.operands)
    reads_output = bool(list(block.arguments[-1].uses))
    return input_count(op) == 1 and is_closed and not reads_output and maps[0] == maps[-1]


def _decide(maker: ir.Operation, reader: ir.Operation, device: Device, context: PassContext) -> bool:
    """Makes the two one op, if that is faster."""
    apart = [bundle_seconds(make_bundle([op]), device, Strategy()) for op in (maker, reader)]
    made = _joined(maker, reader)
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
        for reshape in reversed(reshapes_of(reader.operands[0])):
            second = _reshaped(second, reshape)
    maker.results[0].replace_all_uses_with(first)
    reader.results[0].replace_all_uses_with(second)
    return True


def _joined(maker: ir.Operation, reader: ir.Operation) -> ir.Operation:
    """The op that makes both results, in front of the first."""
    kind, count = element_type_of(reader.results[0]), input_count(maker)
    inputs, maps = list(maker.operands)[:count], maps_of(maker)
    with at(maker):
        outputs = [*list(maker.operands)[count:], empty(shape_of(maker.results[0]), kind)]
        made = generic_op(inputs, outputs, [*maps, maps[-1]], iterators(maker))
        kinds = [element_type_of(value) for value in (*inputs, *outputs)]
        block = made.regions[0].blocks.append(*kinds, arg_locs=[maker.location] * len(kinds))
    with ir.InsertionPoint(block), maker.location:
        first = copied_body(maker, list(block.arguments)[:count])
        linalg.YieldOp([first, copied_body(reader, [first])])
    return made


def _reshaped(value: ir.Value, reshape: ir.Operation) -> ir.Value:
    """A value in the shape that another one gets."""
    shape, groups = shape_of(reshape.results[0]), reassociation_of(reshape)
    kind = ir.RankedTensorType.get(shape, element_type_of(value))
    if reshape.name == "tensor.collapse_shape":
        return tensor.CollapseShapeOp(kind, value, groups).result
    return tensor.ExpandShapeOp(kind, value, groups, [], shape).result
