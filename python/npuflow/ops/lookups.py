"""Ops that go along a loop and do something only at the one place that data name. Reads IR and changes nothing.

    %r = linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%table, %asked, %positions) outs(%o) {
      %hit = arith.cmpi eq, %asked, %position
      %new = arith.select %hit, %element, %out }

Where positions are consecutive numbers, that place is a subtraction away, and a core goes there at once. The op says
what is computed, and how operands are cut into tiles; only what runs on a core, and its time, know of the short cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.ops.contraction import producer
from npuflow.ops.linear import input_count, linear_maps

# On an op of which `npuflow-mark-lookups` has found that the positions are consecutive.
LOOKUP = "npu.lookup"
_WIDENED = ("arith.index_cast", "arith.extsi", "arith.extui")


@dataclass(frozen=True)
class Lookup:
    """A loop of which one place matters: where `here`, from the input `positions`, is `asked`; both are the body's."""

    loop: int
    positions: int
    here: ir.Value
    asked: ir.Value


def lookups_of(op: ir.Operation) -> tuple[Lookup, ...]:
    """The lookups of an op that is marked, none of any other."""
    return match_lookups(op) if LOOKUP in op.attributes else ()


def match_lookups(op: ir.Operation) -> tuple[Lookup, ...]:
    """The loops of which an op needs one place only, provided that positions are consecutive; none for other ops."""
    if op.name != "linalg.generic" or len(op.operands) != input_count(op) + 1 or linear_maps(op) is None:
        return ()
    chosen = chosen_value(op)
    if chosen is None:
        return ()
    found: list[Lookup] = []
    for hit in conjuncts(chosen.operands[0]):
        lookup = _lookup(op, hit)
        if lookup is None:
            return ()
        found.append(lookup)
    loops = {one.loop for one in found}
    if len(loops) < len(found) or any(loops & loops_behind(op, one.asked) for one in found):
        return ()
    return tuple(found)


def chosen_value(op: ir.Operation) -> ir.Operation | None:
    """The select that decides whether a body yields something new or leaves its result as it is."""
    block = op.regions[0].blocks[0]
    last = list(block.operations)[-1].operation
    chosen = producer(last.operands[0], "arith.select")
    is_kept = chosen is not None and chosen.operands[2] == block.arguments[len(block.arguments) - 1]
    return chosen if is_kept else None


def inputs_behind(op: ir.Operation, value: ir.Value) -> set[int]:
    """The numbers of the operands whose elements a value of the body is made of."""
    behind = values_behind(op, value)
    return {i for i, argument in enumerate(op.regions[0].blocks[0].arguments) if argument in behind}


def loops_behind(op: ir.Operation, value: ir.Value) -> set[int]:
    """The loops that a value of the body follows."""
    maps = linear_maps(op) or []
    return {loop for i in inputs_behind(op, value) for dim in maps[i] for loop, _ in dim.terms}


def values_behind(op: ir.Operation, value: ir.Value) -> set[ir.Value]:
    """A value and all of the body that it is made of."""
    found: set[ir.Value] = set()
    left = [value]
    while left:
        one = left.pop()
        found.add(one)
        if not isinstance(one.owner, ir.Block) and one.owner.operation.parent == op:
            left += [operand for operand in one.owner.operation.operands if operand not in found]
    return found


def conjuncts(value: ir.Value) -> Iterator[ir.Value]:
    """What must all be true for a value to be."""
    both = producer(value, "arith.andi")
    if both is None:
        yield value
        return
    for operand in both.operands:
        yield from conjuncts(operand)


def _lookup(op: ir.Operation, hit: ir.Value) -> Lookup | None:
    """What a comparison with a position, on its right, asks for."""
    compared = producer(hit, "arith.cmpi")
    if compared is None or compared.attributes["predicate"].value != arith.CmpIPredicate.eq.value:
        return None
    maps, accumulated = linear_maps(op) or [], input_count(op)
    asked, here = compared.operands
    positions = input_behind_casts(op, here)
    loop = maps[positions][0].loop if positions is not None and len(maps[positions]) == 1 else None
    if positions is None or loop is None:
        return None
    is_data = all(producer(value, "linalg.index") is None for value in values_behind(op, asked))
    if not is_data or loop in loops_behind(op, asked) or accumulated in inputs_behind(op, asked):
        return None
    return Lookup(loop, positions, here, asked)


def input_behind_casts(op: ir.Operation, value: ir.Value) -> int | None:
    """The number of the input that a value is an element of, in whatever width."""
    while (cast := producer(value, *_WIDENED)) is not None:
        value = cast.operands[0]
    arguments = list(op.regions[0].blocks[0].arguments)[: input_count(op)]
    return arguments.index(value) if value in arguments else None
