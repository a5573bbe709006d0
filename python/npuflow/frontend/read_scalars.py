"""npuflow-read-scalars: numbers that a body reads from outside come in as tensors of one element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import arith, ir, linalg, tensor
from npuflow.core.build import at, element_type_of, empty, generic_op, shape_of, zero
from npuflow.core.copies import cloned
from npuflow.core.passes import Pass, PassContext, fail, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.add_inputs import add_inputs
from npuflow.frontend.gather import Picked, Place, affine_map, pick
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear, input_count, iterators, loop_extents

_EXTRACT = "tensor.extract"


@register_pass
@dataclass(frozen=True)
class ReadScalars(Pass):
    """Makes scalar arguments tensors of rank 0, and what bodies read of scalars inputs of their ops.

    A core has nothing but tensors and constants.

        func.func @f(%x: tensor<8xf32>, %s: i64) -> tensor<8xf32> {
          %by = arith.sitofp %s : i64 to f32
          %r = linalg.generic ... ins(%x : tensor<8xf32>) { arith.mulf %in, %by }

    becomes

        func.func @f(%x: tensor<8xf32>, %s: tensor<i64>) -> tensor<8xf32> {
          %r = linalg.generic ... ins(%x, %s : tensor<8xf32>, tensor<i64>) {
            %by = arith.sitofp %in_s : i64 to f32
            arith.mulf %in, %by }

    A tensor's element that is picked outside of a body, at a constant place, is read in the same way; what is filled
    with such a number is computed. An argument of type index becomes one of i64.
    """

    name = "npuflow-read-scalars"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for function in ops_of(op, "func.func"):
            if not function.opview.is_external:
                context.count("arguments made tensors", _make_arguments_tensors(function))
        for fill in ops_of(op, "linalg.fill"):
            if fill.results and producer(fill.operands[0], "arith.constant") is None and _is_known(fill.operands[0]):
                _spell_out_fill(fill)
                context.count("fills computed")
        for generic in ops_of(op, "linalg.generic"):
            context.count("scalars read", _read(generic))
        for unread in reversed([o for o in ops_of(op) if o.name == _EXTRACT or o.name.startswith("arith.")]):
            if not any(True for result in unread.results for _ in result.uses):
                unread.erase()


def _make_arguments_tensors(function: ir.Operation) -> int:
    block, view = function.regions[0].blocks[0], function.opview
    scalars = [a for a in block.arguments if not isinstance(a.type, ir.ShapedType)]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        for argument in scalars:
            _make_tensor(argument, function)
        if scalars:
            kinds = ir.FunctionType.get([a.type for a in block.arguments], ir.FunctionType(view.type).results)
            function.attributes["function_type"] = ir.TypeAttr.get(kinds)
    return len(scalars)


def _make_tensor(argument: ir.Value, function: ir.Operation) -> None:
    kind = argument.type
    if not isinstance(kind, (ir.FloatType, ir.IntegerType, ir.IndexType)):
        raise fail(function, f"an argument of @{function.opview.name.value} is {kind}", "pass numbers and tensors")
    stored = ir.IntegerType.get_signless(64) if isinstance(kind, ir.IndexType) else kind
    argument.set_type(ir.RankedTensorType.get([], stored))
    number = tensor.ExtractOp(argument, []).result
    made = number if stored == kind else arith.IndexCastOp(kind, number).result
    argument.replace_all_uses_except(made, [number.owner.operation])


def _is_known(value: ir.Value) -> bool:
    """Whether a scalar is made of constants and of elements of tensors, by ops without regions."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name == _EXTRACT:
        return all(_constant(place) is not None for place in list(op.operands)[1:])
    return op.name.startswith(("arith.", "math.")) and all(_is_known(operand) for operand in op.operands)


def _constant(value: ir.Value) -> int | None:
    found = producer(value, "arith.constant")
    return None if found is None else int(found.attributes["value"].value)


def _spell_out_fill(fill: ir.Operation) -> None:
    """What is filled by a number that isn't known yet, as an op that reads that number."""
    target = fill.operands[1]
    rank, element = len(shape_of(target)), element_type_of(target)
    with at(fill):
        same = ir.AffineMap.get_identity(rank)
        made = generic_op([], [empty(shape_of(target), element)], [same], ["parallel"] * rank)
        with ir.InsertionPoint(made.regions[0].blocks.append(element)):
            linalg.YieldOp([fill.operands[0]])
    fill.results[0].replace_all_uses_with(made.results[0])
    fill.erase()


def _read(op: ir.Operation) -> int:
    """Has an op read the scalars of others as inputs; returns how many those are."""
    block = op.regions[0].blocks[0]
    _read_operands_in_body(op)
    inside = set(ops_of(op))
    outer = {
        v: None
        for o in inside
        for v in o.operands
        if not isinstance(v.type, ir.ShapedType) and _is_outside(v, inside, op) and _is_known(v)
    }
    outer = {v: None for v in outer if producer(v, "arith.constant") is None}
    if not outer or 0 in loop_extents(op):
        return 0
    leaves = list(dict.fromkeys(leaf for value in outer for leaf in _leaves(value)))
    tensors, maps = [], []
    with at(op):
        for leaf in leaves:
            places: list[Place] = [Linear((), _constant(place) or 0) for place in list(leaf.operands)[1:]]
            found = pick(Picked(leaf.operands[0], places, loop_extents(op)))
            tensors.append(found.tensor)
            maps.append(affine_map(found.places, len(iterators(op))))
    made = add_inputs(op, tensors, maps)
    block = made.regions[0].blocks[0]
    first = input_count(made) - len(leaves)
    copies = {leaf.results[0]: block.arguments[first + number] for number, leaf in enumerate(leaves)}
    with ir.InsertionPoint.at_block_begin(block), made.location:
        for value in outer:
            _copy(value, copies)
    for user in ops_of(made):
        for number, operand in enumerate(user.operands):
            if operand in outer:
                user.operands[number] = copies[operand]
    return len(leaves)


def _read_operands_in_body(op: ir.Operation) -> None:
    """Has the body read a scalar operand from outside, as it might have been written; what is left of it is a 0."""
    block = op.regions[0].blocks[0]
    for number, value in enumerate(list(op.operands)[: input_count(op)]):
        is_scalar = not isinstance(value.type, ir.ShapedType) and producer(value, "arith.constant") is None
        if is_scalar and _is_known(value):
            block.arguments[number].replace_all_uses_with(value)
            with at(op):
                op.operands[number] = zero(value.type)


def _is_outside(value: ir.Value, inside: set[ir.Operation], op: ir.Operation) -> bool:
    if isinstance(value.owner, ir.Block):
        return value.owner.owner.operation not in inside and value.owner.owner.operation != op
    return value.owner.operation not in inside


def _leaves(value: ir.Value) -> Iterator[ir.Operation]:
    """The elements of tensors that a scalar is made of."""
    op = value.owner.operation
    if op.name == _EXTRACT:
        yield op
        return
    for operand in op.operands:
        yield from _leaves(operand)


def _copy(value: ir.Value, copies: dict[ir.Value, ir.Value]) -> ir.Value:
    """A scalar made again where ops are inserted, from what stands for its leaves."""
    if value not in copies:
        op = value.owner.operation
        for operand in op.operands:
            _copy(operand, copies)
        (copies[value],) = cloned(op, copies)
    return copies[value]
