"""What a kernel's op does, as the model of the vector unit sees it. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of
from npuflow.kernels.body_nodes import nodes_of, widest_bytes
from npuflow.kernels.describe_lookup import describe_lookup_work
from npuflow.kernels.vector_cycles import VectorOperand, VectorWork
from npuflow.kernels.vector_operands import vector_operand
from npuflow.ops.contraction import match_contraction
from npuflow.ops.linear import Linear, input_count, iterators, linear_maps
from npuflow.ops.lookups import lookups_of
from npuflow.ops.once import once


@once
def describe_vector_work(op: ir.Operation) -> VectorWork:
    """The work of an op on tensors or memrefs.

    Ops other than contractions and linalg.generic, and those indexed by something else than sums of loops, go through
    their operands once, in order.
    """
    found = lookups_of(op)
    if found:
        return describe_lookup_work(op, found)
    has_loops = op.name == "linalg.generic" or match_contraction(op) is not None
    maps = linear_maps(op) if has_loops else None
    if maps is None:
        return _in_order(op)
    shaped = [i for i, value in enumerate(op.operands) if isinstance(value.type, ir.ShapedType)]
    kinds = iterators(op)
    runs = _runs(kinds, [maps[i] for i in shaped])
    sums = tuple(kinds[run[0]] == "reduction" for run in runs)
    number = {loop: i for i, run in enumerate(runs) for loop in run}
    operands = {i: vector_operand(op.operands[i], maps[i], number) for i in shaped}
    arguments = op.regions[0].blocks[0].arguments
    first_sum = input_count(op) if any(sums) else len(arguments)
    loaded = [i for i in shaped if i < first_sum and any(True for _ in arguments[i].uses)]
    return VectorWork(
        tuple(tuple(run) for run in runs),
        sums,
        tuple(operands[i] for i in loaded),
        # What lies between is loaded, but not written.
        tuple(replace(operands[i], apart=()) for i in shaped if i >= input_count(op)),
        nodes_of(op, first_sum),
        widest_bytes(op),
    )


def _in_order(op: ir.Operation) -> VectorWork:
    shaped = [value for value in op.operands if isinstance(value.type, ir.ShapedType)]
    rank = max(ir.ShapedType(value.type).rank for value in shaped)
    runs = (tuple(range(rank)),) if rank else ()
    widths = [element_bytes(element_type_of(value)) for value in shaped]
    operands = tuple(VectorOperand(width, frozenset(range(len(runs))), (0,)) for width in widths)
    return VectorWork(runs, (False,) * len(runs), operands[:-1], operands[-1:], (), max(widths))


def _runs(kinds: Sequence[str], maps: Sequence[tuple[Linear, ...]]) -> list[list[int]]:
    """Loops that every operand goes through as neighbouring dimensions, outer before inner, or doesn't go through."""
    count = len(kinds)
    follower = {u: v for u, v in sorted(_neighbours(maps)) if kinds[u] == kinds[v] and _is_run(maps, u, v)}
    starts = [loop for loop in range(count) if loop not in follower.values()]
    runs = []
    for loop in starts:
        runs.append([loop])
        while runs[-1][-1] in follower:
            runs[-1].append(follower[runs[-1][-1]])
    return runs


def _neighbours(maps: Sequence[tuple[Linear, ...]]) -> set[tuple[int, int]]:
    """Loops of which some operand has one behind the other."""
    pairs = (pair for dims in maps for pair in pairwise(dim.loop for dim in dims))
    return {(u, v) for u, v in pairs if u is not None and v is not None and u != v}


def _is_run(maps: Sequence[tuple[Linear, ...]], outer: int, inner: int) -> bool:
    """Whether every operand has one loop right behind the other, and nothing else of the two, or has neither."""
    for dims in maps:
        touched = [dim for dim in dims if any(loop in (outer, inner) for loop, _ in dim.terms)]
        if touched and (len(touched) != 2 or (outer, inner) not in pairwise(dim.loop for dim in dims)):
            return False
    return True
