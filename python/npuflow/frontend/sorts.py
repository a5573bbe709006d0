"""Sorts, and what comes first in one, of which linalg has no ops: how many belong before an element is its place."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, is_static, shape_of, zero
from npuflow.core.copies import cloned
from npuflow.frontend.read_positions import positions
from npuflow.ops.contraction import producer

SORT, TOPK = "tm_tensor.sort", "tm_tensor.topk"


def spell_out_sort(sort: ir.Operation) -> bool:
    """A sort as ranks, and a choice by them; what belongs nowhere else stays in the order that it had."""
    values = list(sort.operands)
    if not is_static(sort) or any(inner.operation.regions for inner in sort.regions[0].blocks[0].operations):
        return False
    dimension = int(ir.IntegerAttr(sort.attributes["dimension"]).value)
    with at(sort):
        ranks = _ranks(sort, values, dimension)
        for value, result in zip(values, sort.results):
            if any(True for _ in result.uses):
                result.replace_all_uses_with(_by_rank(value, ranks, dimension, shape_of(value)[dimension]))
    sort.erase()
    return True


def spell_out_topk(topk: ir.Operation) -> bool:
    """The first of a sort, and where they were; one that starts from other than what belongs last stays as it is."""
    *inputs, firsts, _ = topk.operands
    if not is_static(topk) or not _begins_last(topk, firsts):
        return False
    dimension = int(ir.IntegerAttr(topk.attributes["dimension"]).value)
    count, source = shape_of(firsts)[dimension], inputs[0]
    with at(topk):
        ranks = _ranks(topk, [source], dimension)
        here = inputs[1] if len(inputs) > 1 else positions(shape_of(source)[dimension])
        for value, result in zip((source, here), topk.results):
            if any(True for _ in result.uses):
                found = _by_rank(value, ranks, dimension, count)
                result.replace_all_uses_with(found)
    topk.erase()
    return True


def _begins_last(topk: ir.Operation, firsts: ir.Value) -> bool:
    """Whether the results begin as what belongs behind all numbers: infinity, below or above all."""
    filled = producer(firsts, "linalg.fill")
    constant = None if filled is None else producer(filled.operands[0], "arith.constant")
    body = topk.regions[0].blocks[0]
    order = producer(list(body.operations)[-1].operation.operands[0], "arith.cmpf")
    if constant is None or order is None or list(order.operands) != list(body.arguments):
        return False
    below = arith.CmpFPredicate(int(ir.IntegerAttr(order.attributes["predicate"]).value)).name in ("OLT", "OLE")
    return bool(constant.attributes["value"].value == (inf if below else -inf))


def _ranks(sort: ir.Operation, values: Sequence[ir.Value], dimension: int) -> ir.Value:
    """How many elements of the same row belong before each."""
    shape = shape_of(values[0])
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    i32 = ir.IntegerType.get_signless(32)
    places_of = positions(shape[dimension])
    others = [loops[rank] if d == dimension else loops[d] for d in range(rank)]
    places = [place for _ in values for place in (loops[:rank], others)]
    places += [[loops[dimension]], [loops[rank]], loops[:rank]]
    maps = [ir.AffineMap.get(rank + 1, 0, place) for place in places]
    inputs = [each for value in values for each in (value, value)]
    counts = fill(zero(i32), empty(shape, i32))
    made = generic_op([*inputs, places_of, places_of], [counts], maps, ["parallel"] * rank + ["reduction"])
    elements = [element_type_of(value) for value in inputs]
    block = made.regions[0].blocks.append(*elements, i32, i32, i32)
    *read, here, there, sofar = block.arguments
    swapped = [read[number ^ 1] for number in range(len(read))]
    with ir.InsertionPoint(block):
        mine_first, its_first = copied_body(sort, read), copied_body(sort, swapped)
        is_tie = arith.CmpIOp(arith.CmpIPredicate.eq, mine_first, its_first).result
        is_earlier = arith.CmpIOp(arith.CmpIPredicate.slt, there, here).result
        is_before = arith.SelectOp(is_tie, is_earlier, its_first).result
        # An element isn't before itself, whatever its value's errors may be.
        is_itself = arith.CmpIOp(arith.CmpIPredicate.eq, there, here).result
        is_before = arith.SelectOp(is_itself, is_earlier, is_before).result
        linalg.YieldOp([arith.AddIOp(sofar, arith.ExtUIOp(i32, is_before).result).result])
    return made.results[0]


def copied_body(op: ir.Operation, arguments: Sequence[ir.Value]) -> ir.Value:
    """What an op's body yields for other arguments, made where ops are inserted."""
    body = op.regions[0].blocks[0]
    copies: dict[ir.Value, ir.Value] = dict(zip(body.arguments, arguments))
    *inner, last = (child.operation for child in body.operations)
    for one in inner:
        copies.update(zip(one.results, cloned(one, copies)))
    return copies.get(last.operands[0], last.operands[0])


def _by_rank(value: ir.Value, ranks: ir.Value, dimension: int, count: int) -> ir.Value:
    """Of the first `count` places, each one's element: the one of that rank; of a row that all rows have, as well."""
    shape, element = shape_of(ranks), element_type_of(value)
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    i32 = ir.IntegerType.get_signless(32)
    others = [loops[rank] if d == dimension else loops[d] for d in range(rank)]
    read = others if len(shape_of(value)) == rank else [loops[rank]]
    maps = [ir.AffineMap.get(rank + 1, 0, place) for place in (read, others, [loops[dimension]], loops[:rank])]
    inputs = [value, ranks, positions(count)]
    made_shape = [count if d == dimension else size for d, size in enumerate(shape)]
    start = fill(zero(element), empty(made_shape, element))
    made = generic_op(inputs, [start], maps, ["parallel"] * rank + ["reduction"])
    block = made.regions[0].blocks.append(element, i32, i32, element)
    one, its_rank, here, sofar = block.arguments
    with ir.InsertionPoint(block):
        is_it = arith.CmpIOp(arith.CmpIPredicate.eq, its_rank, here).result
        linalg.YieldOp([arith.SelectOp(is_it, one, sofar).result])
    return made.results[0]
