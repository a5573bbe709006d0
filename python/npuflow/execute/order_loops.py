"""Loops in an order that a CPU likes: the loops of sums outside of a parallel one along rows, and of some rows.

    linalg.matmul: for m, for n, for k      becomes      for m by 16, for k by 4, for m in 16, for n, 4 of k at once
    a convolution: for o, h, w, c, i, j     becomes      for o, h, c, i, for w, all j at once

LLVM vectorises the loop along rows, and a row of a large right operand is read once for 16 rows of the result. Of what
computes much, results are read and written once for several steps of a sum. Every element's sum is still added up in
the same order, so that results stay the same bit by bit.
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
# Steps of a sum that are taken at once, all of it up to the most, where LLVM's time for these is well spent.
_STEPS, _MOST_STEPS, _MUCH = 4, 8, 1 << 24
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
    sizes = [0] * len(extents)
    if outer and extents[outer[-1]] % _ROWS == 0 and extents[last] * prod(extents[loop] for loop in summed) > _CACHED:
        *outer, row = outer
        sizes[row] = _ROWS
        within = [row, last]
    else:
        within = [last]
    *others, step = sorted(summed, key=lambda loop: extents[loop] > 1)
    at_once = _at_once([*outer, *within[:-1]], others, step, extents)
    if at_once == 1:
        return _nested(sizes, [*outer, *summed, *within], at_once)
    if at_once < extents[step]:
        sizes = [1 if loop in outer else at_once if loop == step else size for loop, size in enumerate(sizes)]
    return _nested(sizes, [*outer, *others, *within, step], at_once)


def _at_once(outer: Sequence[int], others: Sequence[int], step: int, extents: Sequence[int]) -> int:
    """How many steps of the last loop of a sum are taken at once."""
    if prod(extents) < _MUCH:
        return 1
    if extents[step] <= _MOST_STEPS:
        return extents[step]
    # A loop around its pieces goes behind all loops in front of it, and these have to stay in their order.
    is_behind = all(extents[loop] == 1 for loop in others) and [*outer, step] == sorted([*outer, step])
    return _STEPS if is_behind and extents[step] % _STEPS == 0 else 1


def _nested(sizes: Sequence[int], order: Sequence[int], at_once: int) -> str:
    """Steps that cut loops into pieces, the loops around these first, order the others, and unroll the last one."""
    steps, op = [], "%op"
    if any(sizes):
        handles = [f"%loop{number}" for number in range(len(sizes) - sizes.count(0))]
        kinds = ", ".join([_HANDLE] * (1 + len(handles)))
        tiled = f"%tile, {', '.join(handles)} = transform.structured.tile_using_for %op tile_sizes {[*sizes]}"
        steps, op = [f"{tiled} : ({_HANDLE}) -> ({kinds})"], "%tile"
    steps.append(_interchanged(op, order))
    if at_once > 1:
        kinds = ", ".join([_HANDLE] * len(order))
        steps += [
            f"%nest = transform.structured.convert_to_loops %i : ({_HANDLE}) -> {_HANDLE}",
            f"%each:{len(order)} = transform.split_handle %nest : ({_HANDLE}) -> ({kinds})",
            f"transform.loop.unroll %each#{len(order) - 1} {{ factor = {at_once} }} : {_HANDLE}",
        ]
    return "\n".join(steps)


def _stays_in_row(dims: Sequence[Linear], loop: int) -> bool:
    """Whether all elements of an operand that a loop goes through are in one row of it, or the same one."""
    return not any(each == loop for dim in dims[:-1] for each, _ in dim.terms)


def _interchanged(op: str, order: Sequence[int]) -> str:
    return f"%i = transform.structured.interchange {op} iterator_interchange = {[*order]} : ({_HANDLE}) -> {_HANDLE}"
