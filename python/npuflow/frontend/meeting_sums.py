"""Sums of products that meet in one elementwise op, which is the tail of one of them only. Reads IR."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.core.build import shape_of
from npuflow.ops.contraction import is_elementwise, only_user, producer
from npuflow.ops.linear import input_count
from npuflow.ops.products import sums_products
from npuflow.ops.reshapes import RESHAPES


def meets_sum(user: ir.Operation, value: ir.Value) -> bool:
    """Whether an elementwise op reads, beside a value, what is computed of a sum of products for it alone.

    What has fewer elements is read by the value's own tail.
    """
    others = [other for other in list(user.operands)[: input_count(user)] if other != value]
    return any(_is_made_of_sum(other) and prod(shape_of(other)) >= prod(shape_of(value)) for other in others)


def sum_of_products(value: ir.Value) -> ir.Operation | None:
    """The op that makes a value by adding up products."""
    made = producer(value)
    is_one = made is not None and made.name.startswith("linalg.") and len(made.regions) == 1
    return made if is_one and sums_products(made) else None


def _is_made_of_sum(value: ir.Value) -> bool:
    op = producer(value)
    if op is None or only_user(value) is None:
        return False
    goes_on = op.name in RESHAPES or is_elementwise(op)
    return sum_of_products(value) is not None or (goes_on and any(map(_is_made_of_sum, op.operands)))
