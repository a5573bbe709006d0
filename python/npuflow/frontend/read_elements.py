"""npuflow-read-elements: elements that a body picks out of a tensor are read as operands are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import arith, ir, linalg
from npuflow.constants.known_tensors import KnownBody, KnownTensors, steps_of
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import at, empty, generic_op, is_static, shape_of
from npuflow.core.copies import cloned
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.add_inputs import add_inputs
from npuflow.frontend.gather import Picked, Place, Table, affine_map, pick
from npuflow.ops.linear import Linear, input_count, iterators, linear_dims, loop_extents, maps_of

_EXTRACT = "tensor.extract"
_INDEX = "linalg.index"


@register_pass
@dataclass(frozen=True)
class ReadElements(Pass):
    """Makes what a body picks out of a tensor an input of the op, and tensors of the numbers that it picks them by.

        %r = linalg.generic ... ins(%i : tensor<7xi64>) outs(... : tensor<7x12xf32>) {
          %word, %d = arith.index_cast %in, linalg.index 1
          %x = tensor.extract %words[%word, %d] : tensor<50x12xf32> ... }

    becomes

        %w = linalg.generic ... ins(%i : tensor<7xi64>) outs(... : tensor<7xi32>) { arith.index_cast }
        %p = linalg.generic {indexing_maps = [(d0, d1, d2) -> (d2, d1), (d0, d1, d2) -> (d0), (d0, d1, d2) -> (d0, d1)]}
          ins(%words, %w) outs(%zeros : tensor<7x12xf32>) { arith.select (%place == linalg.index 2), %word, %out }
        %r = linalg.generic ... ins(%i, %p) ... { ^bb0(%in, %x, %out): ... }

    Elements picked by sums of multiples of loops are read by an indexing map, from where they begin; those picked
    equally often, one after the other, by a loop more. All others are looked for: places that depend on positions alone
    are a constant, those that depend on data are computed first. Dimensions whose places follow different loops are
    gone along one after the other. A place outside of the tensor is undefined, as in MLIR.
    """

    name = "npuflow-read-elements"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        known = KnownTensors()
        for generic in ops_of(op, "linalg.generic"):
            current: ir.Operation | None = generic
            while current is not None:
                current = _read_one(current, known)
                if current is not None:
                    context.count("elements read")


def _read_one(op: ir.Operation, known: KnownTensors) -> ir.Operation | None:
    """The op with one of its body's elements as an input; None where nothing is left to be done."""
    if not is_static(op) or 0 in loop_extents(op):
        return None
    for extract in ops_of(op, _EXTRACT):
        source = extract.operands[0]
        if not ir.RankedTensorType(source.type).has_static_shape or _is_inside(source, op):
            continue
        with at(op):
            places = _places(op, extract, known)
            if places is None:
                continue
            found = pick(Picked(source, places, loop_extents(op)))
        made = add_inputs(op, [found.tensor], [affine_map(found.places, len(iterators(op)))])
        argument = made.regions[0].blocks[0].arguments[input_count(made) - 1]
        extract.results[0].replace_all_uses_with(argument)
        extract.erase()
        return made
    return None


def _is_inside(value: ir.Value, op: ir.Operation) -> bool:
    if isinstance(value.owner, ir.Block):
        return bool(value.owner == op.regions[0].blocks[0])
    return value.owner.operation.parent == op


def _places(op: ir.Operation, extract: ir.Operation, known: KnownTensors) -> list[Place] | None:
    """Where along each dimension the element is picked; None where that cannot be said."""
    found: list[Place] = []
    body = KnownBody(known, op)
    extents = loop_extents(op)
    for size, index in zip(shape_of(extract.operands[0]), list(extract.operands)[1:]):
        values = body.value(index)
        place = _data(op, index) if values is None else _known(values.astype(np.int64), extents)
        if place is None or not _is_in_range(place, size, extents):
            return None
        found.append(place)
    return found


def _known(values: Numbers, extents: Sequence[int]) -> Place:
    """Places that don't depend on data: a sum of loops, else a table along those that matter."""
    start = int(values.flat[0])
    terms = []
    for loop in range(len(extents)):
        if values.shape[loop] > 1:
            step = int(np.take(values, 1, axis=loop).flat[0]) - start
            terms.append((loop, step))
    linear = Linear(tuple((loop, step) for loop, step in terms if step), start)
    if all(step > 0 for _, step in linear.terms) and bool(np.all(steps_of(linear, extents) == values)):
        return linear
    kept = [d for d in range(len(extents)) if bool((values != np.take(values, [0], axis=d)).any())]
    return Table(tuple(kept), values[tuple(slice(None) if d in kept else 0 for d in range(len(extents)))])


def _is_in_range(place: Place, size: int, extents: Sequence[int]) -> bool:
    if isinstance(place, Linear):
        return place.constant >= 0 and place.extent(extents) + place.constant <= size
    return place.places is None or bool((place.places >= 0).all() and (place.places < size).all())


def _data(op: ir.Operation, index: ir.Value) -> Table | None:
    """Places that depend on data, computed by an op of their own over the loops that they follow."""
    needed = list(dict.fromkeys(_needed(index)))
    block = op.regions[0].blocks[0]
    arguments = [v for v in needed if isinstance(v.owner, ir.Block)]
    inner = {v.owner.operation for v in needed if not isinstance(v.owner, ir.Block)}
    numbers = [next(i for i, own in enumerate(block.arguments) if own == a) for a in arguments]
    if any(number >= input_count(op) for number in numbers) or any(o.regions or o.name == _EXTRACT for o in inner):
        return None
    maps = [maps_of(op)[number] for number in numbers]
    dims = [linear_dims(map_) for map_ in maps]
    if None in dims:
        return None
    loops = {loop for each in dims for dim in each or () for loop, _ in dim.terms}
    loops |= {int(ir.IntegerAttr(o.attributes["dim"]).value) for o in inner if o.name == _INDEX}
    order = sorted(loops)
    extents = loop_extents(op)
    i32 = ir.IntegerType.get_signless(32)
    renamed = [
        ir.AffineExpr.get_dim(order.index(i)) if i in loops else ir.AffineExpr.get_constant(0)
        for i in range(len(extents))
    ]
    among = ir.AffineMap.get(len(order), 0, renamed)
    read = [
        ir.AffineMap.get(len(order), 0, [ir.AffineExpr.compose(result, among) for result in map_.results])
        for map_ in maps
    ]
    values = [op.operands[number] for number in numbers]
    target = empty([extents[loop] for loop in order], i32)
    same = ir.AffineMap.get_identity(len(order))
    made = generic_op(values, [target], [*read, same], ["parallel"] * len(order))
    body = made.regions[0].blocks.append(*[a.type for a in arguments], i32)
    copies = dict(zip(arguments, body.arguments))
    with ir.InsertionPoint(body):
        for child in block.operations:
            if child.operation in inner:
                copies[child.operation.results[0]] = _copied(child.operation, copies, order)
        linalg.YieldOp([_as_i32(copies[index])])
    return Table(tuple(order), None, made.results[0])


def _needed(value: ir.Value) -> Iterator[ir.Value]:
    """A value, and all of a body that it is made of; what is outside of the body stays there."""
    yield value
    if not isinstance(value.owner, ir.Block):
        for operand in value.owner.operation.operands:
            if not isinstance(operand.type, ir.ShapedType):
                yield from _needed(operand)


def _copied(op: ir.Operation, copies: dict[ir.Value, ir.Value], order: Sequence[int]) -> ir.Value:
    if op.name == _INDEX:
        return linalg.IndexOp(order.index(int(ir.IntegerAttr(op.attributes["dim"]).value))).result
    return cloned(op, copies)[0]


def _as_i32(value: ir.Value) -> ir.Value:
    """A place as a core's addresses have it; an index that was an integer before is taken from there."""
    i32 = ir.IntegerType.get_signless(32)
    if not isinstance(value.type, ir.IndexType):
        return arith.TruncIOp(i32, value).result
    return arith.IndexCastOp(i32, value).result
