"""One linalg.generic of several results as several ops, each of which makes some of them."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir, linalg
from npuflow.core.build import at, generic_op
from npuflow.core.copies import cloned
from npuflow.frontend.split_body import body_of, read_by
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.union import Union

# Numbers of results.
Results = tuple[int, ...]


def independent_results(op: ir.Operation) -> list[Results]:
    """The results that need each other's sums so far, as a place of a maximum does the maximum: sets of them."""
    inputs, yielded = input_count(op), _yielded(op)
    outputs = list(op.regions[0].blocks[0].arguments)[inputs:]
    union = Union()
    for number, value in enumerate(yielded):
        read = {each for inner in _needed_for(op, [value]) for each in read_by(inner)} | {value}
        for other, output in enumerate(outputs):
            if output in read:
                union.join((number, 0), (other, 0))
    classes = union.classes([(number, 0) for number in range(len(yielded))])
    return [tuple(sorted(number for number, _ in members)) for members in classes]


def split_results(op: ir.Operation, parts: Sequence[Results]) -> None:
    """Makes an op of each part of the results, which reads what these need; `op` is gone."""
    for part in parts:
        made = _make(op, part)
        for number, result in zip(part, made.results):
            op.results[number].replace_all_uses_with(result)
    op.erase()


def _make(op: ir.Operation, part: Results) -> ir.Operation:
    arguments, first, maps = list(op.regions[0].blocks[0].arguments), input_count(op), maps_of(op)
    yielded = _yielded(op)
    wanted = [yielded[number] for number in part]
    body = _needed_for(op, wanted)
    read = {value for inner in body for value in read_by(inner)} | set(wanted)
    places = [place for place in range(first) if arguments[place] in read]
    outputs = [first + number for number in part]
    with at(op):
        inputs, targets = ([op.operands[place] for place in each] for each in (places, outputs))
        own_maps = [maps[place] for place in (*places, *outputs)]
        made = generic_op(inputs, targets, own_maps, iterators(op), dict(op.attributes))
    with body_of(made, [arguments[place] for place in places]) as (known, before):
        known |= dict(zip((arguments[place] for place in outputs), before))
        for inner in body:
            known |= dict(zip(inner.results, cloned(inner, known)))
        linalg.YieldOp([known.get(value, value) for value in wanted])
    return made


def _needed_for(op: ir.Operation, wanted: Sequence[ir.Value]) -> list[ir.Operation]:
    """The ops of a body that make some of its values, in order."""
    left, found = list(wanted), set[ir.Operation]()
    block = op.regions[0].blocks[0]
    body = [inner.operation for inner in block.operations]
    while left:
        value = left.pop()
        made = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if made is not None and made.block == block and made not in found:
            found.add(made)
            left += read_by(made)
    return [inner for inner in body if inner in found]


def _yielded(op: ir.Operation) -> list[ir.Value]:
    return list(list(op.regions[0].blocks[0].operations)[-1].operation.operands)
