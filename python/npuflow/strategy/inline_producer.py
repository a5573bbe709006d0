"""An elementwise op computed again inside of an op that reads it. Edits IR."""

from __future__ import annotations

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
    known = dict(zip(source.regions[0].blocks[0].arguments, list(block.arguments)[: len(own)]))
    with ir.InsertionPoint(block):
        _copy_body(source, known)
        end = list(source.regions[0].blocks[0].operations)[-1].operation
        computed = known.get(end.operands[0], end.operands[0])
        rest = list(block.arguments)[len(own) :]
        given = [*rest[:place], computed, *rest[place:]]
        values = dict(zip(reader.regions[0].blocks[0].arguments, given))
        _copy_body(reader, values)
        cloned(list(reader.regions[0].blocks[0].operations)[-1].operation, values)
    for old, result in zip(reader.results, new.results):
        old.replace_all_uses_with(result)
    reader.erase()
    return new


def _copy_body(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Copies of what a body computes, where ops are inserted; `values` get to know the results."""
    for inner in list(op.regions[0].blocks[0].operations)[:-1]:
        values.update(zip(inner.operation.results, cloned(inner.operation, values)))
