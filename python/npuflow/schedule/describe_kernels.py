"""What each kernel op of a function works on, as the cycle model sees it."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.frontend.contraction import loop_sizes, match_contraction
from npuflow.schedule.kernel_cycles import KernelShape


def describe_kernel(op: ir.Operation) -> KernelShape:
    """The shape of a fill, an elementwise op or a packed matmul on memrefs."""
    result = op.operands[len(op.operands) - 1]
    element = element_type_of(result)
    width = element_bytes(element)
    elements = prod(shape_of(result))
    contraction = match_contraction(op) if op.name != "linalg.fill" else None
    if contraction is None:
        return KernelShape("fill" if op.name == "linalg.fill" else "elementwise", (), elements, width, 0, 0, _work(op))
    types = tuple(str(element_type_of(value)) for value in op.operands)
    return KernelShape("matmul", types, elements, width, prod(loop_sizes(op)), elements * width)


def _work(op: ir.Operation) -> int:
    """How many vector operations an element takes: the body's, one at least."""
    if op.name == "linalg.fill":
        return 1
    return max(1, len(list(op.regions[0].blocks[0].operations)) - 1)
