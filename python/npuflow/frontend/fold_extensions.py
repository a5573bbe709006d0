"""npuflow-fold-extensions: tensors that were made wider are read as they were, and made wider in bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from npuflow.bindings import arith, ir, linalg, tensor
from npuflow.core.build import (
    at,
    element_bytes,
    element_type_of,
    empty,
    generic_op,
    is_static,
    moved,
    shape_of,
    zero_attribute,
)
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.fold_views import can_read_through, source_map, with_map
from npuflow.ops.contraction import BUNDLE, is_parallel, producer, users
from npuflow.ops.factors import EXTENSIONS, ProductFactor, factors_of

# What integers are scaled by, as well: no product of others' is one of what was scaled, but elementwise ops are.
_SCALING = (*EXTENSIONS, "arith.sitofp", "arith.uitofp", "arith.mulf")
_MOVEMENTS = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice", "tensor.pad")


@register_pass
@dataclass(frozen=True)
class FoldExtensions(Pass):
    """Lets all users of a tensor that was extended to a wider type read the narrow one, and extend in their bodies.

        %a = linalg.generic ... ins(%x : tensor<8x32xbf16>) outs(... : tensor<8x32xf32>) { arith.extf }
        %b = linalg.generic ... ins(%w : tensor<32x16xbf16>) outs(... : tensor<32x16xf32>) { arith.extf }
        %r = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f : ...)

    becomes

        %r = linalg.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%f : ...)

    Extending is exact, so that this is the same arithmetic: narrow factors, wide sums, as matrix instructions compute.
    An op that sums products reads both factors so or none, where they are of one type and nothing else is made of them.
    What only moves a tensor, a reshape, a slice or padding by a number that the narrow type has, moves the narrow one.

    Integers that are made floats, and scaled by a positive number, are read as integers by elementwise ops, which scale
    them themselves, and moved as integers: of what an i8 network adds or concatenates, f32 is four times as much.
    """

    name = "npuflow-fold-extensions"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        changed = 1
        while changed:
            # Elementwise ops first: those that only move what was extended extend it themselves then, and are next.
            moved_about = sum(map(_move_narrow, _made_wider(op)))
            changed = moved_about + sum(_fold(each, are_parallel=True) for each in _made_wider(op))
            context.count("movements of narrow tensors", moved_about)
            context.count("extensions folded", changed - moved_about)
        for each in _made_wider(op):
            context.count("extensions folded", _fold(each, are_parallel=False))
        for each in reversed(_made_wider(op)):
            if not users(each.results[0]):
                each.erase()


def _made_wider(op: ir.Operation) -> list[ir.Operation]:
    return [generic for generic in ops_of(op, "linalg.generic") if steps_of(generic)]


def steps_of(op: ir.Operation) -> list[ir.Operation]:
    """What a linalg.generic does to each element of a tensor, one after the other, to make it wider, if that is all."""
    if not is_static(op) or source_map(op) is None:
        return []
    if element_bytes(element_type_of(op.operands[0])) >= element_bytes(element_type_of(op.results[0])):
        return []
    block = op.regions[0].blocks[0]
    *inner, end = (each.operation for each in block.operations)
    steps = [each for each in inner if number_of(each) is None]
    if not all(map(_extends if BUNDLE in op.attributes else _makes_wider, steps)):
        return []
    read = [block.arguments[0], *(step.results[0] for step in steps)]
    is_chain = all(step.operands[0] == value for step, value in zip([*steps, end], read))
    return steps if is_chain else []


def _makes_wider(step: ir.Operation) -> bool:
    if step.name != "arith.mulf":
        return step.name in _SCALING
    factor = producer(step.operands[1])
    number = None if factor is None else number_of(factor)
    return number is not None and 0 < number < inf


def number_of(op: ir.Operation) -> float | None:
    """A float that is constant, perhaps extended."""
    constant = producer(op.operands[0], "arith.constant") if op.name == "arith.extf" else op
    value = None if constant is None or constant.name != "arith.constant" else constant.attributes["value"]
    return float(value.value) if isinstance(value, ir.FloatAttr) else None


def _extends(step: ir.Operation) -> bool:
    return step.name in EXTENSIONS


def _are_extensions(steps: Sequence[ir.Operation]) -> bool:
    return all(map(_extends, steps))


def _move_narrow(op: ir.Operation) -> int:
    """Lets what moves an extended tensor for linalg ops move the narrow one, extended behind it; returns how many."""
    moving = [user for user in users(op.results[0]) if user.name in _MOVEMENTS and _is_read(user)]
    found = [user for user in moving if user.operands[0] == op.results[0] and _can_be_narrow(user, op)]
    made = 0
    for user in found:
        with at(user):
            kind = ir.RankedTensorType.get(shape_of(user.results[0]), element_type_of(op.operands[0]))
            others = list(user.operands)[1:]
            attributes = dict(user.attributes)
            narrow = ir.Operation.create(
                user.name, [kind], [_narrow(op), *others], attributes, regions=len(user.regions)
            )
            if user.regions:
                _pad_narrow(user, narrow, op)
            extended = _extended(narrow.results[0], op)
        user.results[0].replace_all_uses_with(extended.results[0])
        user.erase()
        made += 1 + _move_narrow(extended)
    return made


def _is_read(op: ir.Operation) -> bool:
    """Whether a linalg op reads what is moved, perhaps moved once more: else nothing is gained."""
    uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    return any(_is_linalg_input(user, i) or (user.name in _MOVEMENTS and _is_read(user)) for user, i in uses)


def _is_linalg_input(op: ir.Operation, index: int) -> bool:
    return op.name.startswith("linalg.") and index < len(op.operands) - len(op.results)


def _can_be_narrow(movement: ir.Operation, op: ir.Operation) -> bool:
    if not is_static(movement):
        return False
    return movement.name != "tensor.pad" or _narrow_padding(movement, op) is not None


def _narrow_padding(pad: ir.Operation, op: ir.Operation) -> ir.Attribute | None:
    """The number of the narrow type that becomes what a tensor is padded with, if there is one."""
    block = pad.regions[0].blocks[0]
    constant = producer(block.operations[len(block.operations) - 1].operands[0], "arith.constant")
    kind = element_type_of(op.operands[0])
    if constant is None:
        return None
    value = constant.attributes["value"]
    if value.value == 0:
        with pad.location:
            return zero_attribute(kind)
    if not isinstance(value, ir.FloatAttr) or not _are_extensions(steps_of(op)):
        return None
    narrow = ir.FloatAttr.get(kind, value.value, loc=pad.location)
    return narrow if narrow.value == value.value else None


def _pad_narrow(pad: ir.Operation, narrow: ir.Operation, op: ir.Operation) -> None:
    """Gives a narrow `tensor.pad` its region."""
    value = _narrow_padding(pad, op)
    sizes = list(pad.regions[0].blocks[0].arguments)
    block = narrow.regions[0].blocks.append(*(size.type for size in sizes), arg_locs=[pad.location] * len(sizes))
    with ir.InsertionPoint(block):
        tensor.YieldOp(arith.ConstantOp(element_type_of(op.operands[0]), value).result)


def _extended(value: ir.Value, like: ir.Operation) -> ir.Operation:
    """A linalg.generic that makes a tensor as wide as another one does."""
    steps = steps_of(like)
    kind = steps[-1].results[0].type
    same = ir.AffineMap.get_identity(len(shape_of(value)))
    op = generic_op([value], [empty(shape_of(value), kind)], [same, same], ["parallel"] * same.n_dims)
    block = op.regions[0].blocks.append(element_type_of(value), kind)
    with ir.InsertionPoint(block):
        linalg.YieldOp([_wide(block.arguments[0], steps)[-1].results[0]])
    return op


def _wide(value: ir.Value, steps: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The same steps for a value, constants included."""
    made = []
    for step in steps:
        factors = [_copied(factor.owner.operation) for factor in list(step.operands)[1:]]
        kind, attributes = [step.results[0].type], dict(step.attributes)
        made.append(ir.Operation.create(step.name, kind, [value, *factors], attributes))
        value = made[-1].results[0]
    return made


def _copied(number: ir.Operation) -> ir.Value:
    constants = [_copied(read.owner.operation) for read in number.operands]
    kind, attributes = [number.results[0].type], dict(number.attributes)
    return ir.Operation.create(number.name, kind, constants, attributes).results[0]


def _narrow(op: ir.Operation) -> ir.Value:
    """The tensor that an op extends, as its result lies."""
    source = source_map(op)
    assert source is not None
    same = ir.AffineMap.get_identity(source.n_dims)
    if source == same:
        return op.operands[0]
    with at(op):
        return moved(op.operands[0], empty(shape_of(op.results[0]), element_type_of(op.operands[0])), source, same)


def _fold(op: ir.Operation, are_parallel: bool) -> int:
    """Lets parallel linalg ops, or the others, extend what they read themselves; returns how many reads that are."""
    steps, source = steps_of(op), source_map(op)
    assert source is not None
    uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    folded = 0
    for user, index in uses:
        if is_parallel(user) != are_parallel or not _can_extend(user, index, steps):
            continue
        if can_read_through(user, index, source):
            user.attributes["indexing_maps"] = with_map(user, index, source)
            user.operands[index] = op.operands[0]
        else:
            user.operands[index] = _narrow(op)
        argument = user.regions[0].blocks[0].arguments[index]
        argument.set_type(element_type_of(op.operands[0]))
        with ir.InsertionPoint.at_block_begin(argument.owner), user.location:
            made = _wide(argument, steps)
        argument.replace_all_uses_except(made[-1].results[0], [made[0]])
        folded += 1
    return folded


def _can_extend(user: ir.Operation, index: int, steps: Sequence[ir.Operation]) -> bool:
    """Whether an op's body may make input `index` wider; that of a named op extends in one way only."""
    if not _is_linalg_input(user, index):
        return False
    if not can_read_through(user, index, ir.AffineMap.get_identity(len(shape_of(user.operands[index])))):
        return False
    if not _are_extensions(steps):
        return is_parallel(user) and BUNDLE not in user.attributes
    if user.name != "linalg.generic" and steps[-1].name == "arith.extui":
        return False
    factors = factors_of(user)
    return factors is None or _are_alike(user, factors)


def _are_alike(user: ir.Operation, factors: tuple[ProductFactor, ProductFactor]) -> bool:
    """Whether both factors are of one narrow type."""
    kinds = set()
    for factor in factors:
        value = user.operands[factor.inputs[0]]
        source = producer(value, "linalg.generic")
        steps = [] if source is None else steps_of(source)
        is_extended = source is not None and steps and _are_extensions(steps)
        kinds.add(element_type_of(source.operands[0] if source is not None and is_extended else value))
    return len(kinds) == 1 and all(factor.is_bare for factor in factors)
