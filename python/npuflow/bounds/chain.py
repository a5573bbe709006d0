"""Two matmuls in a row, (A B) D, and attention without what its softmax keeps, which is the same. Pure."""

from __future__ import annotations

from npuflow.bounds import gemm
from npuflow.bounds.blocks import Attained, block_sizes, blocks_of, least, most_columns
from npuflow.bounds.sizes import ChainSizes


def fused_compulsory_bytes(sizes: ChainSizes) -> int:
    """What both matmuls need, the product between them left out."""
    first, second = sizes.first, sizes.second
    between = first.m * first.n * (first.result_bytes + second.lhs_bytes) * sizes.batch
    return unfused_compulsory_bytes(sizes) - between


def unfused_compulsory_bytes(sizes: ChainSizes) -> int:
    """What both matmuls need, one after the other: the product between them is written and read."""
    return gemm.compulsory_bytes(sizes.first) + gemm.compulsory_bytes(sizes.second)


def unfused_attainable(sizes: ChainSizes, fast_bytes: int) -> Attained | None:
    """Both matmuls with their best blocks, one after the other."""
    first, second = gemm.attainable(sizes.first, fast_bytes), gemm.attainable(sizes.second, fast_bytes)
    if first is None or second is None:
        return None
    return Attained(first.bytes + second.bytes, f"{first.stays}, then {second.stays}", (*first.block, *second.block))


def fused_attainable(sizes: ChainSizes, fast_bytes: int) -> Attained | None:
    """The least that blocks move which go through both matmuls; None where none fits."""
    one = ChainSizes(sizes.first.once, sizes.second.once)
    found = least([_rows_stay(one, fast_bytes), _right_operands_stay(one, fast_bytes), _products_stay(one, fast_bytes)])
    return found and Attained(found.bytes * sizes.batch, found.stays, found.block)


def _rows_stay(sizes: ChainSizes, room: int) -> Attained | None:
    """m rows of A and of the result stay, with one column between them; B and D come once for each block of rows.

    Their elements are used as they arrive, and count for nothing in the fast memory.
    """
    first, second = sizes.first, sizes.second
    a_row = first.k * first.lhs_bytes + second.n * second.acc_bytes + first.acc_bytes
    rows = min(first.m, room // a_row)
    if rows < 1:
        return None
    blocks = blocks_of(first.m, rows)
    streamed = first.k * first.n * first.rhs_bytes + second.k * second.n * second.rhs_bytes
    moved = fused_compulsory_bytes(sizes) + streamed * (blocks - 1)
    return Attained(moved, "rows of left operand and result", (blocks_of(first.m, blocks),))


def _right_operands_stay(sizes: ChainSizes, room: int) -> Attained | None:
    """B and D stay whole, and rows go by one after the other."""
    first, second = sizes.first, sizes.second
    whole = first.k * first.n * first.rhs_bytes + second.k * second.n * second.rhs_bytes
    a_row = first.k * first.lhs_bytes + second.n * second.acc_bytes + first.acc_bytes
    if whole + a_row > room:
        return None
    return Attained(fused_compulsory_bytes(sizes), "both right operands", (first.k, first.n))


def _products_stay(sizes: ChainSizes, room: int) -> Attained | None:
    """An a x b block of A B is made and stays until it is used up; the result comes and goes for each block along l."""
    first, second = sizes.first, sizes.second
    width = max(first.acc_bytes, second.lhs_bytes)
    found: list[Attained | None] = []
    for a in block_sizes(first.m, room // width):
        # While it is made, lines of A and of B come along it; while it is used, sums and lines of D.
        made = most_columns(a, width, first.lhs_bytes, first.rhs_bytes, room)
        used = most_columns(a, width, second.acc_bytes, second.rhs_bytes, room)
        b = min(first.n, made, used)
        if b < 1:
            continue
        along, across = blocks_of(first.n, b), blocks_of(first.m, a)
        left = first.m * first.k * first.lhs_bytes * along
        right = (first.k * first.n * first.rhs_bytes + second.k * second.n * second.rhs_bytes) * across
        partial = second.m * second.n * second.acc_bytes * 2 * (along - 1)
        moved = left + right + partial + second.m * second.n * second.result_bytes
        found.append(Attained(moved, "the product between them", (a, blocks_of(first.n, along))))
    return least(found)
