"""Which arguments of a function pick elements of tensors, and what they must be less than. Reads IR only."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.linear import input_count

_EXTRACT = "tensor.extract"


def index_limits(function: ir.Operation) -> dict[int, int]:
    """For each argument of integers that elements are picked by, the least size of what they are picked from."""
    blocks = function.regions[0].blocks
    extracts = ops_of(function, _EXTRACT) if len(blocks) == 1 else []
    if not extracts:
        return {}
    origins = _origins(function)
    limits: dict[int, int] = {}
    for extract in extracts:
        shape = ir.RankedTensorType(extract.operands[0].type).shape
        for size, index in zip(shape, list(extract.operands)[1:]):
            for argument in origins.get(index, frozenset()):
                limits[argument] = min(limits.get(argument, size), size)
    return limits


def _origins(function: ir.Operation) -> dict[ir.Value, frozenset[int]]:
    """The arguments of integers that each value depends on."""
    found: dict[ir.Value, frozenset[int]] = {}
    for number, argument in enumerate(function.regions[0].blocks[0].arguments):
        kind = argument.type
        element = kind.element_type if isinstance(kind, ir.ShapedType) else kind
        if isinstance(element, (ir.IntegerType, ir.IndexType)):
            found[argument] = frozenset((number,))
    for op in _in_order(function):
        origins = frozenset().union(*(found.get(operand, frozenset()) for operand in op.operands))
        if op.name == "linalg.generic":
            block = op.regions[0].blocks[0]
            for argument, operand in zip(list(block.arguments)[: input_count(op)], op.operands):
                found[argument] = found.get(operand, frozenset())
            for inner in ops_of(op):
                inside = frozenset().union(*(found.get(operand, frozenset()) for operand in inner.operands))
                found.update(dict.fromkeys(inner.results, inside))
        found.update(dict.fromkeys(op.results, origins))
    return {value: origins for value, origins in found.items() if origins}


def _in_order(function: ir.Operation) -> list[ir.Operation]:
    return [child.operation for child in function.regions[0].blocks[0].operations]
