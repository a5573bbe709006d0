"""Dimensions that are summed along side by side in both factors, as one loop. Edits IR."""

from __future__ import annotations

import math

from npuflow.bindings import ir
from npuflow.frontend.loop_groups import collapsed_dims, loop_groups
from npuflow.frontend.reshape import Grouped, regroup
from npuflow.ops.contraction import BUNDLE, STRATEGY, operand_loops
from npuflow.ops.linear import iterators, loop_extents
from npuflow.ops.products import keep_reshaped


def join_sums(op: ir.Operation) -> bool:
    """Lets a sum of products go along one loop where both factors have what it sums along side by side.

    Its other loops stay, and so does its result. Returns whether any were joined; `op` is gone then.
    """
    operands = operand_loops(op)
    if len(operands) != 3 or any(loop < 0 for dims in operands for loop in dims) or BUNDLE in op.attributes:
        return False
    kinds, extents = iterators(op), loop_extents(op)
    reductions = frozenset(loop for loop, kind in enumerate(kinds) if kind == "reduction")
    found = loop_groups(operands, reductions)
    groups = sorted(part for group in found for part in (_each(group) if group[0] not in reductions else [group]))
    grouped = [collapsed_dims(dims, groups) for dims in operands]
    if len(groups) == len(kinds) or STRATEGY in op.attributes or None in grouped:
        return False
    dims = [Grouped(tuple(n for n, _ in one or ()), tuple(tuple(taken) for _, taken in one or ())) for one in grouped]
    sizes = [math.prod(extents[loop] for loop in group) for group in groups]
    made = regroup(op, dims, sizes, [kinds[group[0]] for group in groups], order=[0, 1])
    keep_reshaped(op, made)
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
    return True


def _each(group: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(loop,) for loop in group]
