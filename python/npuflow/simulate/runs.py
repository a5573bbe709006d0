"""The contiguous runs that an access is made of. Pure."""

from __future__ import annotations

from math import prod

from npuflow.simulate.program import FlatAccess
from npuflow.target.runs import DramRuns


def runs_of(access: FlatAccess) -> DramRuns:
    """How long its runs are, how far apart, and where they begin: at its offset, and steps of strides and loops."""
    dims = len(access.sizes) - _run_dims(access)
    outer = [abs(stride) for size, stride in _dims(access)[:dims] if size > 1]
    steps = (*outer, *(abs(step) for step in access.offset.coefficients))
    return DramRuns(
        prod(access.sizes[dims:]) * access.element_bytes,
        outer[-1] * access.element_bytes if outer else 0,
        access.offset.constant * access.element_bytes,
        tuple(step * access.element_bytes for step in steps),
    )


def _dims(access: FlatAccess) -> list[tuple[int, int]]:
    return list(zip(access.sizes, access.strides))


def _run_dims(access: FlatAccess) -> int:
    """How many of its innermost dimensions make up a run."""
    run, count = 1, 0
    for size, stride in reversed(_dims(access)):
        if size > 1 and stride != run:
            break
        run, count = run * size, count + 1
    return count
