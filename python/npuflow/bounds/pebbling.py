"""The red-blue pebble game's bounds on sums of products, in bytes. Pure; docs/bounds.md says where they are from.

With S the elements that the fast memory has room for and R the windows that an element is in, 2 products / sqrt(R S)
elements cross at least, and the results beside them. That holds for sums of many terms; of few, results may leave as
they are made and what stays is an operand. Where blocks are known that move less, what holds for all sums is taken, as
many as that without the results and without 2 S.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class SummedProducts:
    """SummedProducts that are summed: how many, the bytes of the results, and the windows that an element is in.

    Where widths differ, the narrowest one counts both for what the memory could hold and for what an element takes, so
    that bounds stay bounds.
    """

    macs: int
    results_bytes: int
    narrowest_bytes: int
    reuse: float = 1.0


def window_reuse(window: int, window_step: int) -> float:
    """R: in how many windows an element of an image is, 1 at least."""
    return max(1.0, window / window_step)


def pebbling_bytes(products: SummedProducts, fast_bytes: int) -> int:
    """2 products / sqrt(R S) and the results: the formula as it is quoted, of sums of many terms."""
    return int(_operands_bytes(products, fast_bytes)) + products.results_bytes


def least_bytes(products: SummedProducts, fast_bytes: int, compulsory_bytes: int, known_bytes: int | None) -> int:
    """The bound that holds, given what is compulsory and what the best blocks move that are known."""
    bound = pebbling_bytes(products, fast_bytes)
    if known_bytes is not None and known_bytes < bound:
        bound = int(_operands_bytes(products, fast_bytes)) - 2 * fast_bytes
    return max(bound, compulsory_bytes)


def _operands_bytes(products: SummedProducts, fast_bytes: int) -> float:
    room = max(1.0, fast_bytes / products.narrowest_bytes)
    return 2 * products.macs / sqrt(products.reuse * room) * products.narrowest_bytes
