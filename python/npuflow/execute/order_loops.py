"""Loops in an order that a CPU likes: a sum's loop outside of the last parallel one, and of some rows.

    linalg.matmul: for m, for n, for k      becomes      for m by 16, for k, for m in 16, for n

The inner loop then runs along rows, which LLVM vectorises, and a row of a large right operand is read once for 16 rows
of the result: a large matmul takes a hundredth of the time. Every element's sum is still added up in the same order, so
that results stay the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.build import apply_steps
from npuflow.core.passes import ops_of
from npuflow.ops.linear import iterators, loop_extents

# Rows of a result that are computed side by side where what they all read, of so many elements, leaves the caches.
_ROWS, _CACHED = 16, 1 << 15
_HANDLE = "!transform.any_op"


def order_loops(module: ir.Module) -> None:
    """Reorders every linalg.generic whose only reduction loop is the innermost."""
    for op in ops_of(module.operation, "linalg.generic"):
        kinds = iterators(op)
        if len(kinds) > 1 and kinds == ["parallel"] * (len(kinds) - 1) + ["reduction"]:
            apply_steps(op, _steps(loop_extents(op)))


def _steps(extents: Sequence[int]) -> str:
    """Transform steps for an op of such loops."""
    *outer, last, summed = range(len(extents))
    if not outer or extents[outer[-1]] % _ROWS or extents[last] * extents[summed] <= _CACHED:
        return _interchanged("%op", [*outer, summed, last])
    *around, row = outer
    sizes = [_ROWS if loop == row else 0 for loop in range(len(extents))]
    tiled = f"%tile, %loop = transform.structured.tile_using_for %op tile_sizes {sizes}"
    return f"{tiled} : ({_HANDLE}) -> ({_HANDLE}, {_HANDLE})\n" + _interchanged("%tile", [*around, summed, row, last])


def _interchanged(op: str, order: Sequence[int]) -> str:
    return f"%i = transform.structured.interchange {op} iterator_interchange = {[*order]} : ({_HANDLE}) -> {_HANDLE}"
