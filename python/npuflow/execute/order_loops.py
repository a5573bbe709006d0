"""Loops in an order that a CPU likes: the loops of sums outside of a parallel one along rows, and of some rows.

    linalg.matmul: for m, for n, for k      becomes      for m by 16, for k, for m in 16, for n
    a convolution: for o, h, w, c, i, j     becomes      for o, h, c, i, j, for w

The inner loop then runs along rows, which LLVM vectorises, and a row of a large right operand is read once for 16 rows
of the result: a large matmul takes a hundredth of the time. Every element's sum is still added up in the same order, so
that results stay the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import apply_steps
from npuflow.core.passes import ops_of
from npuflow.ops.linear import Linear, iterators, linear_maps, loop_extents

# Rows of a result that are computed side by side where what they all read, of so many elements, leaves the caches.
_ROWS, _CACHED = 16, 1 << 15
_HANDLE = "!transform.any_op"


def order_loops(module: ir.Module) -> None:
    """Reorders every linalg.generic that sums up."""
    for op in ops_of(module.operation, "linalg.generic"):
        steps = _steps(op)
        if steps:
            apply_steps(op, steps)


def _steps(op: ir.Operation) -> str:
    """Transform steps for an op; none for one whose loops stay in their order."""
    kinds, extents, maps = iterators(op), loop_extents(op), linear_maps(op)
    parallel, summed = ([loop for loop, each in enumerate(kinds) if each == kind] for kind in ("parallel", "reduction"))
    if maps is None or not summed:
        return ""
    along = [loop for loop in parallel if extents[loop] != 1 and all(_stays_in_row(dims, loop) for dims in maps)]
    if not along:
        return ""
    last = max(along, key=lambda loop: extents[loop])
    outer = [loop for loop in parallel if loop != last]
    if not outer or extents[outer[-1]] % _ROWS or extents[last] * prod(extents[loop] for loop in summed) <= _CACHED:
        return _interchanged("%op", [*outer, *summed, last])
    *around, row = outer
    sizes = [_ROWS if loop == row else 0 for loop in range(len(extents))]
    tiled = f"%tile, %loop = transform.structured.tile_using_for %op tile_sizes {sizes}"
    steps = _interchanged("%tile", [*around, *summed, row, last])
    return f"{tiled} : ({_HANDLE}) -> ({_HANDLE}, {_HANDLE})\n{steps}"


def _stays_in_row(dims: Sequence[Linear], loop: int) -> bool:
    """Whether all elements of an operand that a loop goes through are in one row of it, or the same one."""
    return not any(each == loop for dim in dims[:-1] for each, _ in dim.terms)


def _interchanged(op: str, order: Sequence[int]) -> str:
    return f"%i = transform.structured.interchange {op} iterator_interchange = {[*order]} : ({_HANDLE}) -> {_HANDLE}"
