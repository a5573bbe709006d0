"""What each op of a function moves at least between two levels, and what its best blocks would move."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bounds.ops import attainable, compulsory_bytes, lower_bound_bytes
from npuflow.bounds.sizes import MatmulSizes, OpSizes
from npuflow.report.model import OpBound


def op_bounds(sizes: Sequence[OpSizes], fast_bytes: int) -> tuple[OpBound, ...]:
    """For each op, at a boundary with so many bytes inside."""
    return tuple(_op_bound(number, one, fast_bytes) for number, one in enumerate(sizes))


def _op_bound(number: int, sizes: OpSizes, fast_bytes: int) -> OpBound:
    kind = "matmul" if isinstance(sizes, MatmulSizes) else "bundle"
    found = attainable(sizes, fast_bytes)
    bound = lower_bound_bytes(sizes, fast_bytes)
    return OpBound(f"{kind} {number}", compulsory_bytes(sizes), bound, None if found is None else found.bytes)
