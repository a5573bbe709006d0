"""Sums of products: which loops of an op a matrix instruction goes through, and how much of it is used.

An instruction multiplies m x k by k x n. Loops of the same role are one dimension to it, as long as operands are
indexed by them alone: pixels of a window are not, since neighbours share what they read. Of those the innermost loop is
cut into instructions, and window positions repeat them. Everything here reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_type_of
from npuflow.frontend.bundle import Bundle
from npuflow.frontend.linear import input_count, is_reduction, iterators, linear_maps

_SUMS = (["arith.mulf", "arith.addf", "linalg.yield"], ["arith.muli", "arith.addi", "linalg.yield"])
_EXTENSIONS = ("arith.extf", "arith.extsi", "arith.extui", "arith.sitofp")


@dataclass(frozen=True)
class Products:
    """The loops of a sum of products by role; `single` ones are no part of an instruction, which is repeated for each.

    `windowed` are the inputs indexed by sums of loops; `gathered` is the same op once those have been copied so that
    every loop has a dimension of its own, as in a matmul.
    """

    types: tuple[str, str, str]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    single: tuple[int, ...]
    windowed: tuple[int, ...] = ()
    gathered: Products | None = None

    def issued(self, tiles: Sequence[int], m: int, n: int, k: int) -> int:
        """The multiplications that instructions of m x n x k do for a tile, idle ones included."""
        sizes = (prod(tiles[loop] for loop in loops) for loops in (self.m, self.n, self.k))
        filled = prod(-(-size // unit) * unit for size, unit in zip(sizes, (m, n, k)))
        return filled * prod(tiles[loop] for loop in self.single)


def sums_products(op: ir.Operation) -> bool:
    """Whether an op adds the product of its two inputs, as they are or extended, to what it has."""
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return input_count(op) == 2 and [name for name in names if name not in _EXTENSIONS] in _SUMS


def pads_streamed(bundle: Bundle) -> bool:
    """Whether zeros may fill up streamed loops: where products are summed, one factor of which is read as it is."""
    reducing = [op for op in bundle.ops if any("reduction" in kind for kind in iterators(op))]
    return len(reducing) == 1 and all(
        sums_products(op) and not all(bundle.is_internal(value) for value in list(op.operands)[:2]) for op in reducing
    )


def match_products(op: ir.Operation) -> Products | None:
    """The roles of an op's loops, if it sums products that matrix instructions could do: with an m, an n and a k."""
    if op.name != "linalg.generic" or not sums_products(op):
        return None
    maps = linear_maps(op)
    if maps is None:
        return None
    lhs, rhs = ({loop for dim in dims for loop, _ in dim.terms} for dims in maps[:2])
    loops = range(len(iterators(op)))
    reduced = {loop for loop in loops if is_reduction(op, loop)}
    windowed = {loop for dims in maps[:2] for dim in dims if len(dim.terms) > 1 for loop, _ in dim.terms}
    sets = (lhs - rhs - reduced, rhs - lhs - reduced, lhs & rhs & reduced)
    roles = [[loop for loop in loops if loop in role] for role in sets]
    if not all(roles):
        return None
    m, n, k = roles
    pixels = [loop for loop in m if loop in windowed]
    channels = [loop for loop in k if loop not in windowed]
    kept = (tuple(pixels[-1:] or m), tuple(n), tuple(channels or k[-1:]))
    lhs_type, rhs_type, acc_type = (str(element_type_of(value)) for value in op.operands)
    types = (lhs_type, rhs_type, acc_type)
    inputs = tuple(number for number, dims in enumerate(maps[:2]) if any(len(dim.terms) > 1 for dim in dims))
    whole = _with_single(types, (tuple(m), tuple(n), tuple(k)), loops)
    return replace(_with_single(types, kept, loops), windowed=inputs, gathered=whole if inputs else None)


def _with_single(
    types: tuple[str, str, str], kept: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], loops: range
) -> Products:
    return Products(types, *kept, tuple(loop for loop in loops if not any(loop in role for role in kept)))
