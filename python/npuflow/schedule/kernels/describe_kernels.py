"""What each kernel op of a function works on, as the cycle model sees it."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.kernels.describe_vector import describe_vector_work
from npuflow.ops.bundle_ops import is_zero
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import linear_maps, loop_extents
from npuflow.ops.products import match_products
from npuflow.ops.window_sums import match_window_sums
from npuflow.schedule.kernels.kernel_cycles import KernelShape
from npuflow.schedule.nest.kernel_operands import kernel_kind


def describe_kernel(op: ir.Operation) -> KernelShape:
    """The shape of a fill, a sum of products or any other op on memrefs."""
    result, kind = op.operands[len(op.operands) - 1], kernel_kind(op)
    width, elements = element_bytes(element_type_of(result)), prod(shape_of(result))
    trips = _trips(op)
    products = match_products(op)
    if products is not None:
        macs, acc_bytes = prod(trips), elements * width
        return KernelShape(
            kind, products.types, elements, width, macs, acc_bytes, describe_vector_work(op), products, trips
        )
    zeros = op.name == "linalg.fill" and is_zero(op.operands[0])
    macs = prod(trips) if op.name == "linalg.generic" and factors_of(op) is not None else 0
    work, windows = describe_vector_work(op), match_window_sums(op)
    return KernelShape(kind, (), elements, width, macs, vector=work, trips=trips, zeros=zeros, windows=windows)


def _trips(op: ir.Operation) -> tuple[int, ...]:
    """Each loop's extent; of ops that aren't indexed by sums of loops, the result's shape."""
    if op.name == "linalg.generic" and linear_maps(op) is not None:
        return tuple(loop_extents(op))
    return tuple(shape_of(op.operands[len(op.operands) - 1]))
