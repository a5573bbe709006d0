"""Which ops can be part of a bundle, and what keeps others from it, as `(what, hint)`. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.passes import ops_of, parents_of
from npuflow.ops.contraction import producer, users
from npuflow.ops.linear import Linear, input_count, is_reduction, linear_maps, loop_extents
from npuflow.ops.once import once

Problem = tuple[str, str]


def op_problem(op: ir.Operation) -> Problem | None:
    """What keeps an op from being part of a bundle, as (what, hint)."""
    maps = linear_maps(op)
    if maps is None or any(c < 0 for dims in maps for dim in dims for _, c in dim.terms):
        return f"{op.name} has an indexing map that is no sum of loops", "index by sums of positive multiples of loops"
    shift = next((dim.constant for dims in maps for dim in dims if dim.constant), None)
    if shift is not None:
        what = f"{op.name} has an indexing map that begins at {shift}"
        return what, "index by sums of multiples of loops, which begin at 0: pass the part that is read"
    if (problem := body_problem(op)) is not None:
        return problem
    for dims in maps[input_count(op) :]:
        written = [dim.loop for dim in dims]
        if None in written or len(set(written)) != len(written):
            return f"{op.name} writes along sums of loops", "write along loops, each at most once"
    extents = loop_extents(op)
    if 0 in extents:
        return f"{op.name} has a loop whose size no operand gives", "index one operand by that loop alone"
    for loop, size in enumerate(extents):
        follows = [loop in _loops(dims) for dims in maps[input_count(op) :]]
        if size > 1 and not is_reduction(op, loop) and not all(follows):
            what = f"{op.name} writes each element {size} times, as its result doesn't follow parallel loop {loop}"
            return what, "make the loop a reduction, whose body says what becomes of the element there was"
        if is_reduction(op, loop) and any(follows):
            return f"{op.name} has a result that follows reduction loop {loop}", "make the loop parallel"
    return None


def _loops(dims: tuple[Linear, ...]) -> set[int]:
    return {loop for dim in dims for loop, _ in dim.terms}


def body_problem(op: ir.Operation) -> Problem | None:
    """What a body does that no core can, as (what, hint)."""
    body = ops_of(op)
    if any(inner.name == "linalg.index" for inner in body):
        hint = "run npuflow-normalize-linalg first: it reads them from a tensor where an operand gives the loop's size"
        return f"{op.name} computes with the position of an element (linalg.index)", hint
    inside = [inner for inner in body if any(isinstance(v.type, ir.ShapedType) for v in inner.operands)]
    if inside:
        return f"{op.name} reads a tensor from inside of its body ({inside[0].name})", "make the tensor an operand"
    return scalar_problem(op, body)


def scalar_problem(op: ir.Operation, body: Sequence[ir.Operation]) -> Problem | None:
    """What a core that has nothing but tensors and constants cannot know of an op with that body, as (what, hint)."""
    values = [*op.operands, *(operand for inner in body for operand in inner.operands)]
    if any(not isinstance(v.type, ir.ShapedType) and _is_from_outside(v, op) for v in values):
        return f"{op.name} reads a scalar that is no constant", "make it a tensor of one element"
    return None


def _is_from_outside(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value is neither a constant nor made inside of an op."""
    if isinstance(value.owner, ir.Block):
        around = value.owner.owner.operation
        return around != op and op not in parents_of(around)
    return value.owner.operation.name != "arith.constant" and op not in parents_of(value.owner.operation)


@once
def is_bundle_op(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and bool(op.results) and op_problem(op) is None


def unpadded(value: ir.Value) -> ir.Value:
    """What a padded tensor holds beside its zeros."""
    pad = producer(value, "tensor.pad")
    return value if pad is None else pad.operands[0]


def pads_with_zeros(pad: ir.Operation) -> bool:
    """Whether a `tensor.pad` of static size adds nothing but zeros."""
    view = pad.opview
    if len(pad.operands) > 1 or not ir.RankedTensorType(view.source.type).has_static_shape:
        return False
    yielded = list(pad.regions[0].blocks[0].operations)[-1].operation.operands[0]
    return is_zero(yielded)


def is_zero(number: ir.Value) -> bool:
    """Whether a scalar is the constant zero."""
    constant = producer(number, "arith.constant")
    if constant is None:
        return False
    value = constant.attributes["value"]
    if isinstance(value, ir.FloatAttr):
        return ir.FloatAttr(value).value == 0.0
    return isinstance(value, (ir.IntegerAttr, ir.BoolAttr)) and not value.value


def is_filled_with_zeros(value: ir.Value) -> bool:
    """Whether all elements of a tensor are filled with the constant zero."""
    filled = producer(value, "linalg.fill")
    return filled is not None and is_zero(filled.operands[0])


def pad_problem(pad: ir.Operation) -> Problem | None:
    """What keeps a `tensor.pad` from being part of how its result is read, as (what, hint)."""
    if not pads_with_zeros(pad):
        return (
            "tensor.pad adds something else than zeros",
            "pad with a constant, which npuflow-normalize-linalg makes zeros and a mask",
        )
    others = [user for user in users(pad.results[0]) if not is_bundle_op(user) or is_output(user, pad.results[0])]
    if others:
        return (
            f"tensor.pad is read by {others[0].name}",
            "run npuflow-normalize-linalg first, which computes what others than linalg ops read",
        )
    return None


def is_input(op: ir.Operation, index: int) -> bool:
    """Whether an op is a linalg.generic that reads operand `index` as an input."""
    return op.name == "linalg.generic" and index < input_count(op)


def is_output(op: ir.Operation, value: ir.Value) -> bool:
    return any(value == output for output in list(op.operands)[input_count(op) :])
