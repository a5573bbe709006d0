"""A matmul: what is compulsory, the pebbling bound, and the best blocks. docs/bounds.md derives what is here."""

from __future__ import annotations

from npuflow.bounds.blocks import Attained, block_sizes, blocks_of, bytes_of, least, most_columns
from npuflow.bounds.pebbling import SummedProducts, least_bytes
from npuflow.bounds.sizes import MatmulSizes


def compulsory_bytes(sizes: MatmulSizes) -> int:
    """Each operand read once, the result written once."""
    lhs, rhs = sizes.m * sizes.k * sizes.lhs_bytes, sizes.k * sizes.n * sizes.rhs_bytes
    return sizes.batch * (lhs + rhs + sizes.m * sizes.n * sizes.result_bytes)


def lower_bound_bytes(sizes: MatmulSizes, fast_bytes: int) -> int:
    """No order of the computation moves less into and out of a fast memory of `fast_bytes`."""
    once, known = sizes.once, attainable(sizes.once, fast_bytes)
    bound = least_bytes(products_of(once), fast_bytes, compulsory_bytes(once), bytes_of(known))
    return sizes.batch * bound


def products_of(sizes: MatmulSizes) -> SummedProducts:
    """The matmul's products, as the pebble game counts them."""
    narrowest = min(sizes.lhs_bytes, sizes.rhs_bytes, sizes.acc_bytes)
    return SummedProducts(sizes.macs, sizes.batch * sizes.m * sizes.n * sizes.result_bytes, narrowest)


def attainable(sizes: MatmulSizes, fast_bytes: int) -> Attained | None:
    """The least that blocks move which write each result once; None where not even single elements fit."""
    found = least([_result_stays(sizes, fast_bytes), *_operands_stay(sizes, fast_bytes)])
    return found and Attained(found.bytes * sizes.batch, found.stays, found.block)


def fits_bytes(sizes: MatmulSizes) -> int:
    """The least fast memory with which nothing but what is compulsory moves."""
    m, n, k = sizes.m, sizes.n, sizes.k
    lhs, rhs, acc = sizes.lhs_bytes, sizes.rhs_bytes, sizes.acc_bytes
    return min(
        m * n * acc + min(m * lhs + rhs, n * rhs + lhs),
        m * k * lhs + min(m * acc + rhs, k * rhs + acc),
        n * k * rhs + min(n * acc + lhs, k * lhs + acc),
    )


def _result_stays(sizes: MatmulSizes, room: int) -> Attained | None:
    """An a x b block of sums stays; of each step of k come a column of a, then one by one b elements, or vice versa."""
    m, n, k = sizes.m, sizes.n, sizes.k
    lhs, rhs, acc = sizes.lhs_bytes, sizes.rhs_bytes, sizes.acc_bytes
    found: list[Attained | None] = []
    for a in block_sizes(m, room // acc):
        b = min(n, most_columns(a, acc, lhs, rhs, room))
        if b < 1:
            continue
        operands = m * k * lhs * blocks_of(n, b) + k * n * rhs * blocks_of(m, a)
        block = (a, blocks_of(n, blocks_of(n, b)))
        found.append(Attained(operands + m * n * sizes.result_bytes, "result", block))
    return least(found)


def _operands_stay(sizes: MatmulSizes, room: int) -> list[Attained | None]:
    """Rows of the left operand stay with all of k, or columns of the right one."""
    turned = _lhs_stays(sizes.turned, room)
    return [_lhs_stays(sizes, room), turned and Attained(turned.bytes, "rhs", turned.block[::-1])]


def _lhs_stays(sizes: MatmulSizes, room: int) -> Attained | None:
    """a rows of the left operand stay; for each column of the result come k elements one by one, or all at a time."""
    m, n, k = sizes.m, sizes.n, sizes.k
    lhs, rhs, acc = sizes.lhs_bytes, sizes.rhs_bytes, sizes.acc_bytes
    a = min(m, max((room - rhs) // (k * lhs + acc), (room - k * rhs - acc) // (k * lhs)))
    if a < 1:
        return None
    blocks = blocks_of(m, a)
    moved = m * k * lhs + k * n * rhs * blocks + m * n * sizes.result_bytes
    return Attained(moved, "lhs", (blocks_of(m, blocks), k))
