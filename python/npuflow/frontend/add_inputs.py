"""More inputs for a linalg.generic, or fewer."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.build import at, element_type_of, generic_op
from npuflow.ops.linear import input_count, iterators, maps_of


def add_inputs(op: ir.Operation, values: Sequence[ir.Value], maps: Sequence[ir.AffineMap]) -> ir.Operation:
    """The op with `values`, indexed by `maps`, behind its other inputs; the body moves, and `op` is gone."""
    first_output = input_count(op)
    operands, old_maps = list(op.operands), maps_of(op)
    block = op.regions[0].blocks[0]
    inputs, outputs = [*operands[:first_output], *values], operands[first_output:]
    with at(op):
        all_maps = [*old_maps[:first_output], *maps, *old_maps[first_output:]]
        made = generic_op(inputs, outputs, all_maps, iterators(op), dict(op.attributes))
    old_outputs = list(block.arguments)[first_output:]
    for value in values:
        block.add_argument(element_type_of(value), op.location)
    for old in old_outputs:
        old.replace_all_uses_with(block.add_argument(old.type, op.location))
    for _ in old_outputs:
        block.erase_argument(first_output)
    _take_place(op, made)
    return made


def drop_unread_inputs(op: ir.Operation) -> ir.Operation:
    """The op without those inputs that its body doesn't read; the body moves, and `op` is gone."""
    count, operands, maps, block = input_count(op), list(op.operands), maps_of(op), op.regions[0].blocks[0]
    unread = [number for number in range(count) if not any(True for _ in block.arguments[number].uses)]
    kept = [number for number in range(count) if number not in unread]
    read = [maps[number] for number in (*kept, *range(count, len(maps)))]
    with at(op):
        inputs = [operands[number] for number in kept]
        made = generic_op(inputs, operands[count:], read, iterators(op), dict(op.attributes))
    for number in reversed(unread):
        block.erase_argument(number)
    _take_place(op, made)
    return made


def _take_place(op: ir.Operation, made: ir.Operation) -> None:
    """Has an op take another one's place, and body."""
    op.regions[0].blocks[0].append_to(made.regions[0])
    for old, new in zip(op.results, made.results):
        old.replace_all_uses_with(new)
    op.erase()
