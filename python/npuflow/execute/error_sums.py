"""What a `linalg.generic` does with the errors of its results: none, run along, or add up as in a sum.

%p = arith.mulf %a, %b : f32
%s = arith.addf %acc, %p : f32      a sum: accumulator %acc, term %p
linalg.yield %s : f32
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import element_type_of
from npuflow.execute.arrays import FLOAT_FORMATS
from npuflow.execute.error_rules import rounds
from npuflow.execute.widen import CONVERSIONS


@dataclass(frozen=True)
class Sum:
    """A result that adds a term to its accumulator and does nothing else with it; `ops` are those that do so."""

    accumulator: ir.Value
    term: ir.Value
    is_difference: bool
    unit_roundoff: float
    ops: tuple[ir.Operation, ...]


def sum_of(op: ir.Operation, position: int) -> Sum | None:
    """Result `position` of a generic op as a sum, through conversions of the accumulator and back."""
    if not any("reduction" in str(kind) for kind in op.attributes["iterator_types"]):
        return None
    block = op.regions[0].blocks[0]
    accumulator = block.arguments[len(op.operands) - len(op.results) + position]
    value, ops = _behind_conversions(block.operations[-1].operation.operands[position])
    if _maker(value) not in ("arith.addf", "arith.subf"):
        return None
    sum_op = value.owner.operation
    is_difference = sum_op.name == "arith.subf"
    sides = list(sum_op.operands)
    (first, first_ops), (second, second_ops) = map(_behind_conversions, sides)
    if (first == accumulator) == (second == accumulator) or (is_difference and first != accumulator):
        return None
    term, inner = (sides[1], first_ops) if first == accumulator else (sides[0], second_ops)
    ops = [*ops, sum_op, *inner]
    if any(len(list(used.uses)) != 1 for used in (accumulator, *(one.results[0] for one in ops))):
        return None
    units = [FLOAT_FORMATS[str(element_type_of(one.results[0]))].unit_roundoff for one in ops]
    return Sum(accumulator, term, is_difference, max(units), tuple(ops))


def _behind_conversions(value: ir.Value) -> tuple[ir.Value, list[ir.Operation]]:
    """What a value was before conversions, and these."""
    ops: list[ir.Operation] = []
    while _maker(value) in CONVERSIONS:
        ops.append(value.owner.operation)
        value = ops[-1].operands[0]
    return value, ops


def _maker(value: ir.Value) -> str:
    return "" if isinstance(value.owner, ir.Block) else str(value.owner.operation.name)


def inexact_results(op: ir.Operation, given: Sequence[bool], outside: Callable[[ir.Value], bool]) -> list[bool]:
    """Which results may be off, where operands are `given` to be; `outside` knows of values from outside the body.

    An accumulator that rounds once is off from then on.
    """
    block = op.regions[0].blocks[0]
    outs = len(op.results)
    inputs, carried = list(given[: len(given) - outs]), list(given[len(given) - outs :])
    while True:
        arguments = zip(block.arguments, [*inputs, *carried], strict=True)
        inexact = {argument for argument, flag in arguments if flag}
        *body, end = [child.operation for child in block.operations]
        for one in body:
            if rounds(one) or any(operand in inexact or outside(operand) for operand in one.operands):
                inexact.update(one.results)
        found = [value in inexact or outside(value) for value in end.operands]
        grown = [old or new for old, new in zip(carried, found, strict=True)]
        if grown == carried:
            return found
        carried = grown
