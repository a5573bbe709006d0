"""A network's layers: its sums of products of f32, where their factors come from, and where their sums go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import at, element_type_of, empty, fill, is_static, moved, padded_by, shape_of, zero
from npuflow.core.passes import ops_of
from npuflow.frontend.fold_views import source_map
from npuflow.frontend.meeting_sums import meets_sum
from npuflow.ops.bundle_ops import is_filled_with_zeros
from npuflow.ops.contraction import is_elementwise, only_user, producer, users
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import maps_of
from npuflow.ops.reshapes import RESHAPES

_MOVEMENTS = (*RESHAPES, "tensor.extract_slice", "linalg.transpose", "linalg.broadcast")
_NO_SUMS = ("linalg.fill", "linalg.index", "linalg.yield")


@dataclass(frozen=True)
class ProductLayer:
    """A sum of products, the operands that are multiplied, and what these were before they were moved about."""

    op: ir.Operation
    factors: tuple[int, int]
    origins: tuple[ir.Value, ir.Value]


def product_layers(root: ir.Operation) -> list[ProductLayer]:
    """The sums of products of two tensors of f32, in program order."""
    found = (_layer_of(op) for op in ops_of(root) if op.name.startswith("linalg.") and op.name not in _NO_SUMS)
    return [layer for layer in found if layer is not None]


def _layer_of(op: ir.Operation) -> ProductLayer | None:
    if len(op.results) != 1 or len(op.operands) != 3 or not op.regions or not is_static(op):
        return None
    if any(str(element_type_of(value)) != "f32" for value in op.operands):
        return None
    factors = factors_of(op)
    if factors is None or not all(factor.is_bare for factor in factors):
        return None
    left, right = (factor.inputs[0] for factor in factors)
    return ProductLayer(op, (left, right), (origin_of(op.operands[left]), origin_of(op.operands[right])))


def origin_of(value: ir.Value) -> ir.Value:
    """The tensor that a value's elements are of, wherever they were moved, zeros around them left out."""
    op = producer(value)
    while op is not None and moves(op):
        value = op.operands[0]
        op = producer(value)
    return value


def moved_like(value: ir.Value, origin: ir.Value, other: ir.Value) -> ir.Value:
    """Another tensor, moved about as `origin` was until it became `value`."""
    if value == origin:
        return other
    op = value.owner.operation
    source = moved_like(op.operands[0], origin, other)
    shape, kind = shape_of(value), element_type_of(other)
    with at(op):
        if op.name == "tensor.pad":
            return padded_by(source, list(op.opview.static_low), list(op.opview.static_high), zero(kind))
        if op.name.startswith("linalg."):
            read, written = maps_of(op)
            return moved(source, empty(shape, kind), read, written)
        if op.name == "tensor.insert_slice":
            zeros = fill(zero(kind), empty(shape, kind))
            return ir.Operation.create(op.name, [zeros.type], [source, zeros], dict(op.attributes)).results[0]
        operands = [source, *list(op.operands)[1:]]
        return ir.Operation.create(
            op.name, [ir.RankedTensorType.get(shape, kind)], operands, dict(op.attributes)
        ).results[0]


def joined_like(concat: ir.Operation, parts: Sequence[ir.Value]) -> ir.Value:
    """Other tensors, of one type, joined as those of a `tensor.concat` are."""
    kind = ir.RankedTensorType.get(shape_of(concat.results[0]), element_type_of(parts[0]))
    return ir.Operation.create("tensor.concat", [kind], parts, dict(concat.attributes)).results[0]


def moves(op: ir.Operation) -> bool:
    """Whether an op's result has the elements of its first operand, moved about, and zeros around them."""
    if op.name == "tensor.pad":
        return pads_with_zero(op)
    if op.name == "tensor.insert_slice":
        return len(op.operands) == 2 and is_filled_with_zeros(op.operands[1])
    if op.name == "linalg.generic":
        return _yields_input(op) and source_map(op) is not None
    return op.name in _MOVEMENTS


def _yields_input(op: ir.Operation) -> bool:
    block = op.regions[0].blocks[0]
    return len(block.operations) == 1 and block.operations[0].operands[0] == block.arguments[0]


def pads_with_zero(pad: ir.Operation) -> bool:
    """Whether a `tensor.pad` puts zeros around a tensor."""
    return padding_of(pad) == 0


def padding_of(pad: ir.Operation) -> float | None:
    """The number that a `tensor.pad` puts around a tensor, if it is a constant."""
    block = pad.regions[0].blocks[0]
    constant = producer(block.operations[len(block.operations) - 1].operands[0], "arith.constant")
    value = None if constant is None else constant.attributes["value"]
    return float(value.value) if isinstance(value, (ir.FloatAttr, ir.IntegerAttr)) else None


def goes_on(user: ir.Operation, value: ir.Value) -> bool:
    """Whether an elementwise op makes one element of each of a tensor's."""
    return is_elementwise(user) and shape_of(user.results[0]) == shape_of(value)


def _continues(user: ir.Operation, value: ir.Value) -> bool:
    """Whether it does, and is no other layer's end."""
    return _goes_on_in_f32(user, value) and not meets_sum(user, value)


def _moves_all(op: ir.Operation) -> bool:
    """Whether an op's result has all elements of its operand, and no others, elsewhere."""
    return moves(op) and prod(shape_of(op.results[0])) == prod(shape_of(op.operands[0]))


def _goes_on_in_f32(user: ir.Operation, value: ir.Value) -> bool:
    return goes_on(user, value) and str(element_type_of(user.results[0])) == "f32"


def end_of(value: ir.Value) -> ir.Value:
    """Where what is computed of each element of a tensor alone ends: what others read, before it is moved about.

    Where it meets another layer's, in one op, both end: the op can be the tail of one, and reads the other from memory.
    """
    return origin_of(_last_of(value))


def ends_of(value: ir.Value) -> Iterator[ir.Value]:
    """The end of a layer, what several ops read on the way there, and the ends of what layers are where they meet."""
    while True:
        after = _after(value)
        user = only_user(value)
        if after is None or user is None:
            yield origin_of(value)
        if after is None:
            if user is None or not _goes_on_in_f32(user, value):
                return
            after = user.results[0]
        value = after


def _last_of(value: ir.Value) -> ir.Value:
    while (after := _after(value)) is not None:
        value = after
    return value


def _after(value: ir.Value) -> ir.Value | None:
    """What its readers make of a tensor alone: of one that several ops read, where all of that has become one again."""
    made, ops = [value], list[ir.Operation]()
    while readers := [(user, each) for each in made for user in users(each) if user not in ops]:
        if any(user.block != readers[0][0].block for user, _ in readers):
            return None
        # The first in the program: nobody else is passed by.
        user, read = reduce(lambda one, other: other if other[0].is_before_in_block(one[0]) else one, readers)
        if not (_continues(user, read) or (len(readers) == 1 and not ops and _moves_all(user))):
            return None
        ops.append(user)
        made = [each for each in (*made, user.results[0]) if any(reader not in ops for reader in users(each))]
        if len(made) == 1 and made[0] != value:
            return made[0]
    return None


def is_returned_only(value: ir.Value) -> bool:
    """Whether nobody but the function's caller reads a tensor."""
    return all(user.name == "func.return" for user in users(value))
