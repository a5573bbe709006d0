"""More inputs for a linalg.generic."""

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
    block.append_to(made.regions[0])
    for old, new in zip(op.results, made.results):
        old.replace_all_uses_with(new)
    op.erase()
    return made
