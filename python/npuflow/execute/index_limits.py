"""Which arguments of a function pick elements of tensors, and what they must be less than. Reads IR only."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.linear import input_count

_EXTRACT, _SCATTER = "tensor.extract", "tm_tensor.scatter"


def index_limits(function: ir.Operation) -> dict[int, int]:
    """For each argument of integers that elements are picked by, the least size of what they are picked from."""
    blocks = function.regions[0].blocks
    picking = ops_of(function, _EXTRACT, _SCATTER) if len(blocks) == 1 else []
    if not picking:
        return {}
    origins = _origins(function)
    limits: dict[int, int] = {}
    for op in picking:
        for size, index in _sizes(op):
            for argument in origins.get(index, frozenset()):
                limits[argument] = min(limits.get(argument, size), size)
    return limits


def _sizes(op: ir.Operation) -> list[tuple[int, ir.Value]]:
    """What picks elements, each with the size of the dimension that it does so along."""
    if op.name == _EXTRACT:
        return list(zip(ir.RankedTensorType(op.operands[0].type).shape, list(op.operands)[1:]))
    _, indices, original = op.operands
    shape = ir.RankedTensorType(original.type).shape
    return [(shape[d], indices) for d in ir.DenseI64ArrayAttr(op.attributes["dimension_map"])]


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
