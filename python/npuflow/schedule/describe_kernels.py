"""What each kernel op of a function works on, as the cycle model sees it."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.frontend.contraction import loop_sizes
from npuflow.schedule.kernel_cycles import KernelShape
from npuflow.schedule.kernel_operands import kernel_kind


def describe_kernel(op: ir.Operation) -> KernelShape:
    """The shape of a fill, a packed matmul or any other op on memrefs.

    Other ops have as many elements as their loops have iterations, each of which takes the work of their body.
    """
    result, kind = op.operands[len(op.operands) - 1], kernel_kind(op)
    element = element_type_of(result)
    width, elements = element_bytes(element), prod(shape_of(result))
    if kind == "matmul":
        types = tuple(str(element_type_of(value)) for value in op.operands)
        return KernelShape(kind, types, elements, width, prod(loop_sizes(op)), elements * width)
    if op.name == "linalg.generic":
        elements = max(elements, prod(_trips(op)))
    return KernelShape(kind, (), elements, width, 0, 0, _work(op))


def _trips(op: ir.Operation) -> list[int]:
    """Each loop's extent, from an operand that has a dimension of its own for it, as every loop of an op must."""
    maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(op)]
    sizes = [1] * maps[0].n_dims
    for value, map_ in zip(op.operands, maps):
        if not isinstance(value.type, ir.ShapedType):
            continue
        for size, result in zip(shape_of(value), map_.results):
            if isinstance(result, ir.AffineDimExpr):
                sizes[result.position] = max(sizes[result.position], size)
    return sizes


def _work(op: ir.Operation) -> int:
    """How many vector operations an element takes: the body's, one at least."""
    if op.name != "linalg.generic":
        return 1
    return max(1, len(list(op.regions[0].blocks[0].operations)) - 1)
