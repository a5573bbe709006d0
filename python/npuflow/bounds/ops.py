"""Bounds of any op whose sizes are known."""

from __future__ import annotations

from npuflow.bounds import convolution, gemm
from npuflow.bounds.blocks import Attained
from npuflow.bounds.sizes import MatmulSizes, OpSizes


def compulsory_bytes(sizes: OpSizes) -> int:
    """Each operand once inward, each result once outward."""
    return gemm.compulsory_bytes(sizes) if isinstance(sizes, MatmulSizes) else sizes.needed_bytes


def lower_bound_bytes(sizes: OpSizes, fast_bytes: int) -> int:
    """No order of the computation moves less into and out of a fast memory of `fast_bytes`.

    Of a bundle without a convolution, what it needs once; nothing sharper is claimed.
    """
    if isinstance(sizes, MatmulSizes):
        return gemm.lower_bound_bytes(sizes, fast_bytes)
    if sizes.convolution is None:
        return sizes.needed_bytes
    return max(convolution.lower_bound_bytes(sizes.convolution, fast_bytes), sizes.needed_bytes)


def attainable(sizes: OpSizes, fast_bytes: int) -> Attained | None:
    """The least that the blocks which are searched move; None where none fits, or there are no blocks to search.

    What a convolution's bundle reads beside image and weights comes once.
    """
    if isinstance(sizes, MatmulSizes):
        return gemm.attainable(sizes, fast_bytes)
    if sizes.convolution is None:
        return None
    found = convolution.attainable(sizes.convolution, fast_bytes)
    beside = sizes.needed_bytes - convolution.compulsory_bytes(sizes.convolution)
    return found and Attained(found.bytes + max(0, beside), found.stays, found.block)
