"""What an op does that goes to the places that data name, as the model of the vector unit sees it. Reads IR.

For each step of its other loops, it subtracts the first position from the place that is asked for, compares that with
the size, and moves what is there: a row of neighbours in vectors, single elements one by one. The address of a single
element takes its number out of a vector first, so that these are loaded one by one as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of
from npuflow.kernels.body_nodes import nodes_of, widest_bytes
from npuflow.kernels.vector_cycles import LOADED, Node, VectorOperand, VectorWork
from npuflow.kernels.vector_operands import along, vector_operand
from npuflow.ops.linear import Linear, input_count, is_reduction, iterators, linear_maps
from npuflow.ops.lookups import Lookup, inputs_behind, loops_behind

_ADDRESS = (Node("add", "i32", (LOADED,)), Node("compare", "i32", (0,)))


def describe_lookup_work(op: ir.Operation, found: Sequence[Lookup]) -> VectorWork:
    """The work of an op with lookups, on tensors or memrefs."""
    maps, last = linear_maps(op) or [], input_count(op)
    gone = {one.loop for one in found}
    number = {loop: i for i, loop in enumerate(loop for loop in range(len(iterators(op))) if loop not in gone)}
    asking = {i for one in found for i in inputs_behind(op, one.asked)}
    steps = {loop for one in found for loop in loops_behind(op, one.asked)}
    positions = {one.positions for one in found}
    moved = [i for i in range(last + 1) if i not in positions]
    operands = {i: _operand(op.operands[i], maps[i], number, gone, steps) for i in moved}
    if any(not operands[i].along and _goes_along(maps[i], gone) for i in operands):
        operands |= {i: _apart(operands[i]) for i in asking}
    # What a result's place depends on doesn't add up in a register: each step reads and writes it.
    is_scattered = _goes_along(maps[last], gone)
    sums = tuple(is_reduction(op, loop) and not is_scattered for loop in number)
    arguments = op.regions[0].blocks[0].arguments
    read = [i for i in operands if i != last and any(True for _ in arguments[i].uses)]
    return VectorWork(
        tuple((loop,) for loop in number),
        sums,
        tuple(operands[i] for i in (*read, last)),
        (operands[last],),
        (*_ADDRESS, *(_behind_address(node) for node in nodes_of(op, len(arguments)))),
        widest_bytes(op),
    )


def _operand(
    value: ir.Value, dims: tuple[Linear, ...], number: Mapping[int, int], gone: set[int], steps: set[int]
) -> VectorOperand:
    """An operand along the loops that are left; one that is looked up in also changes with what is asked for."""
    if not _goes_along(dims, gone):
        return vector_operand(value, dims, number)
    last = max(d for d, dim in enumerate(dims) if any(loop in gone for loop, _ in dim.terms))
    follows = {loop for dim in dims for loop, _ in dim.terms if loop not in gone} | steps
    width = element_bytes(element_type_of(value))
    behind = along(dims[last + 1 :], number) if last + 1 < len(dims) else ()
    return VectorOperand(width, frozenset(number[loop] for loop in follows), behind)


def _goes_along(dims: Sequence[Linear], loops: set[int]) -> bool:
    return any(loop in loops for dim in dims for loop, _ in dim.terms)


def _apart(operand: VectorOperand) -> VectorOperand:
    return VectorOperand(operand.element_bytes, operand.follows, ())


def _behind_address(node: Node) -> Node:
    """A node of the body, which begins when the address is there."""
    uses = tuple(dict.fromkeys(1 if use == LOADED else use + len(_ADDRESS) for use in node.uses))
    return Node(node.operation, node.type, uses)
