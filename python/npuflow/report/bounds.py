"""What each op of a function moves at least between two levels, and what its best blocks would move."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bounds.blocks import bytes_of
from npuflow.bounds.ops import attainable, compulsory_bytes, lower_bound_bytes
from npuflow.bounds.sizes import MatmulSizes, OpSizes
from npuflow.report.measures import OpBound


def op_bounds(sizes: Sequence[OpSizes], fast_bytes: int) -> tuple[OpBound, ...]:
    """For each op, at a boundary with so many bytes inside."""
    return tuple(_op_bound(number, one, fast_bytes) for number, one in enumerate(sizes))


def _op_bound(number: int, sizes: OpSizes, fast_bytes: int) -> OpBound:
    kind = "matmul" if isinstance(sizes, MatmulSizes) else "bundle"
    return op_bound(f"{kind} {number}", sizes, fast_bytes)


def op_bound(name: str, sizes: OpSizes, fast_bytes: int) -> OpBound:
    """What one op moves at least, and what its best blocks would."""
    best = bytes_of(attainable(sizes, fast_bytes))
    return OpBound(name, compulsory_bytes(sizes), lower_bound_bytes(sizes, fast_bytes), best)
