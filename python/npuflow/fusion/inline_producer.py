"""An elementwise op computed again inside of an op that reads it. Edits IR."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.build import at, element_type_of, generic_op
from npuflow.core.copies import cloned
from npuflow.ops.linear import composed, input_count, iterators, maps_of


def inline_producer(source: ir.Operation, reader: ir.Operation) -> ir.Operation:
    """Replaces an op by one that computes what it reads of an elementwise op by itself; that one stays as it is."""
    inputs, maps = list(reader.operands), maps_of(reader)
    place = inputs.index(source.results[0])
    own, count = list(source.operands)[: input_count(source)], input_count(reader)
    read = [composed(map_, maps[place]) for map_ in maps_of(source)[: len(own)]]
    ins = [*own, *inputs[:place], *inputs[place + 1 : count]]
    all_maps = [*read, *maps[:place], *maps[place + 1 :]]
    said = {name: reader.attributes[name] for name in reader.attributes}
    with at(reader):
        new = generic_op(ins, inputs[count:], all_maps, iterators(reader), said)
        kinds = [element_type_of(value) for value in (*ins, *inputs[count:])]
        block = new.regions[0].blocks.append(*kinds, arg_locs=[reader.location] * len(kinds))
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        computed, rest = copied_body(source, arguments[: len(own)]), arguments[len(own) :]
        values = dict(zip(reader.regions[0].blocks[0].arguments, [*rest[:place], computed, *rest[place:]]))
        _copy(reader, values)
        cloned(_end(reader), values)
    for old, result in zip(reader.results, new.results):
        old.replace_all_uses_with(result)
    reader.erase()
    return new


def copied_body(op: ir.Operation, inputs: Sequence[ir.Value]) -> ir.Value:
    """What an elementwise op makes of scalars, computed where ops are inserted."""
    values = dict(zip(op.regions[0].blocks[0].arguments, inputs))
    _copy(op, values)
    result = _end(op).operands[0]
    return values.get(result, result)


def _copy(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Copies of what a body computes, where ops are inserted; `values` get to know the results."""
    for inner in list(op.regions[0].blocks[0].operations)[:-1]:
        values.update(zip(inner.operation.results, cloned(inner.operation, values)))


def _end(op: ir.Operation) -> ir.Operation:
    return list(op.regions[0].blocks[0].operations)[-1].operation
