"""npuflow-fuse-readers: what is computed of a result that others read too, element by element, is computed with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from npuflow.ops.reshapes import RESHAPES
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
            groups = groups_of(function, GrowthOn(device)) if any(map(_is_open, ops_of(function))) else []
            alone = [group.root for group in groups if len(group.whole) == 1 and _is_open(group.root)]
            replaced: list[ir.Operation] = []
            for maker in alone:
                reading = next(_readings(maker, alone), None)
                if reading is not None and _decide(reading, device, context):
                    replaced += [reading.reader, *reversed(reading.reshapes), maker]
            erase_unused(replaced)


@dataclass(frozen=True)
class _Reading:
    """An op that computes something of each element that another one makes, behind reshapes."""

    maker: ir.Operation
    reshapes: tuple[ir.Operation, ...]
    reader: ir.Operation


def _is_open(op: ir.Operation) -> bool:
    """Whether an op is elementwise, makes one tensor, and may become something else."""
    is_free = BUNDLE not in op.attributes and STRATEGY not in op.attributes
    return op.name == "linalg.generic" and is_free and len(op.results) == 1 and is_elementwise(op)


def _readings(maker: ir.Operation, alone: Sequence[ir.Operation]) -> Iterator[_Reading]:
    """What reads nothing else than a result that others read too."""
    read = list(_read(maker.results[0]))
    for reshapes, reader in read if len(read) > 1 else ():
        if reader in alone and input_count(reader) == 1 and _is_by_element(reader):
            yield _Reading(maker, reshapes, reader)


def _read(value: ir.Value) -> Iterator[tuple[tuple[ir.Operation, ...], ir.Operation]]:
    """The ops that read a value, each with the reshapes in front of it."""
    for user in users(value):
        if user.name in RESHAPES:
            yield from (((user, *more), reader) for more, reader in _read(user.results[0]))
        else:
            yield (), user


def _is_by_element(op: ir.Operation) -> bool:
    """Whether an op makes each element of the same one, and of nothing from outside of its body."""
    (block,) = op.regions[0].blocks
    own = {*block.arguments, *(result for inner in block.operations for result in inner.results)}
    is_closed = all(value in own for inner in block.operations for value in inner.operands)
    reads_output = bool(list(block.arguments[1].uses))
    return is_closed and not reads_output and all(str(each) == str(maps_of(op)[-1]) for each in maps_of(op))


def _decide(reading: _Reading, device: Device, context: PassContext) -> bool:
    """Makes the two one op, if that is faster."""
    maker, reader = reading.maker, reading.reader
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
        for reshape in reading.reshapes:
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
