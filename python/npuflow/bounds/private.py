"""Arrays of private memories: what each must receive if nothing is shared on the way. Pure."""

from __future__ import annotations

from math import sqrt

from npuflow.bounds.sizes import MatmulSizes


def private_bytes(sizes: MatmulSizes, memories: int, fast_bytes: int) -> int:
    """What crosses at least into and out of each of so many memories of `fast_bytes`, of a matmul spread over them.

    COSMA's bound: 2 m n k / (p sqrt(S)) + S elements, the narrowest ones as in pebbling, of a memory that holds S; with
    room for more than (m n k / p)^(2/3), no more of it helps.
    """
    narrowest = min(sizes.lhs_bytes, sizes.rhs_bytes, sizes.acc_bytes)
    share = sizes.macs / memories
    room = min(max(1.0, fast_bytes / narrowest), share ** (2 / 3))
    return int((2 * share / sqrt(room) + room) * narrowest)
