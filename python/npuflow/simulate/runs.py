"""The contiguous runs that an access is made of: how far apart they begin, and where in bursts of memory. Pure."""

from __future__ import annotations

from math import gcd, prod

from npuflow.simulate.program import FlatAccess


def pitch_bytes(access: FlatAccess) -> int:
    """How far apart its contiguous runs begin; 0 where it is one run."""
    dims = _run_dims(access)
    outer = [abs(stride) for size, stride in _dims(access)[: len(access.sizes) - dims] if size > 1]
    return outer[-1] * access.element_bytes if outer else 0


def edges_off_bursts(access: FlatAccess, burst_bytes: int) -> float:
    """How many of a run's two ends aren't at the edge of a burst, on average over all that the access's runs can be.

    Runs begin at its offset and steps of strides and loops from there: at every multiple of what these have in common.
    """
    dims = len(access.sizes) - _run_dims(access)
    run = prod(access.sizes[dims:])
    steps = [*(stride for size, stride in _dims(access)[:dims] if size > 1), *access.offset.coefficients]
    common = gcd(burst_bytes, *(abs(step) * access.element_bytes for step in steps))
    ends = (access.offset.constant, access.offset.constant + run)
    aligned = sum(end * access.element_bytes % common == 0 for end in ends)
    return len(ends) - aligned * common / burst_bytes


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
