"""What each kernel op of a function works on, as the cycle model sees it."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.frontend.bundle import loop_extents
from npuflow.frontend.products import match_products
from npuflow.schedule.kernel_cycles import KernelShape
from npuflow.schedule.kernel_operands import kernel_kind


def describe_kernel(op: ir.Operation) -> KernelShape:
    """The shape of a fill, a packed matmul or any other op on memrefs.

    Other ops have as many elements as their loops have iterations, each of which takes the work of their body.
    """
    result, kind = op.operands[len(op.operands) - 1], kernel_kind(op)
    element = element_type_of(result)
    width, elements = element_bytes(element), prod(shape_of(result))
    products = match_products(op)
    if products is not None:
        trips = tuple(loop_extents(op))
        return KernelShape(kind, products.types, elements, width, prod(trips), elements * width, _work(op), products, trips)
    if op.name == "linalg.generic":
        elements = max(elements, prod(loop_extents(op)))
    return KernelShape(kind, (), elements, width, 0, 0, _work(op))


def _work(op: ir.Operation) -> int:
    """How many vector operations an element takes: the body's, one at least."""
    if op.name != "linalg.generic":
        return 1
    return max(1, len(list(op.regions[0].blocks[0].operations)) - 1)
