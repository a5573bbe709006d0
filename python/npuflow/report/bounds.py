"""How little an op can move between two memory levels. Pure; derivations in docs/run.md."""

from __future__ import annotations

from math import sqrt

from npuflow.strategy.sizes import BundleSizes, MatmulSizes, OpSizes


def compulsory_bytes(sizes: MatmulSizes) -> int:
    """Each operand read once, the result written once."""
    lhs, rhs = sizes.m * sizes.k * sizes.lhs_bytes, sizes.k * sizes.n * sizes.rhs_bytes
    return sizes.batch * (lhs + rhs + sizes.m * sizes.n * sizes.result_bytes)


def lower_bound_bytes(sizes: OpSizes, fast_bytes: int) -> int:
    """No order of the computation moves less into and out of a fast memory of `fast_bytes`.

    A bundle moves what it needs once at least; nothing sharper is claimed of it. For matmuls, red-blue pebbling gives
    2 m n k / sqrt(S) + m n elements for S elements of fast memory. Where widths differ, the narrowest one counts both
    for what the memory could hold and for what an element of the first term takes, so that the bound stays one. What
    is compulsory may be more.
    """
    if isinstance(sizes, BundleSizes):
        return sizes.needed_bytes
    narrowest = min(sizes.lhs_bytes, sizes.rhs_bytes, sizes.acc_bytes)
    moved = 2 * sizes.macs / sqrt(max(1.0, fast_bytes / narrowest)) * narrowest
    results = sizes.batch * sizes.m * sizes.n * sizes.result_bytes
    return max(int(moved) + results, compulsory_bytes(sizes))
