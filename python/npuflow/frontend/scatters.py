"""Scatters, of which linalg has no op: every element looks for the updates that are meant for it, in their order."""

from __future__ import annotations

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import all_true, at, element_type_of, extract_slice, generic_op, is_static, shape_of
from npuflow.frontend.read_positions import positions
from npuflow.frontend.sorts import copied_body

SCATTER = "tm_tensor.scatter"


def spell_out_scatter(scatter: ir.Operation) -> bool:
    """A scatter of single elements, or of whole rows, as a reduction over the updates; others stay as they are."""
    updates, indices, original = scatter.operands
    dims = [int(d) for d in ir.DenseI64ArrayAttr(scatter.attributes["dimension_map"])]
    shape, window = shape_of(original), shape_of(updates)[1:]
    rank, first = len(shape), len(shape) - len(window)
    if not is_static(scatter) or any(d >= first and window[d - first] != 1 for d in dims):
        return False
    if any(d < first and d not in dims for d in range(rank)) or any(
        d not in dims and window[d - first] != shape[d] for d in range(first, rank)
    ):
        return False
    with at(scatter):
        loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
        zero = ir.AffineExpr.get_constant(0)
        count, i32 = shape_of(updates)[0], ir.IntegerType.get_signless(32)
        read = [loops[rank], *(zero if d in dims else loops[d] for d in range(first, rank))]
        columns = [extract_slice(indices, [0, k], [count, 1]) for k in range(len(dims))]
        inputs = [updates, *columns, *(positions(shape[d]) for d in dims)]
        places = [read, *([loops[rank], zero] for _ in dims), *([loops[d]] for d in dims), loops[:rank]]
        maps = [ir.AffineMap.get(rank + 1, 0, place) for place in places]
        made = generic_op(inputs, [original], maps, ["parallel"] * rank + ["reduction"])
        element, number = element_type_of(original), element_type_of(indices)
        kinds = [element, *[number] * len(dims), *[i32] * len(dims), element]
        block = made.regions[0].blocks.append(*kinds)
        asked, here = block.arguments[1 : 1 + len(dims)], block.arguments[1 + len(dims) : 1 + 2 * len(dims)]
        with ir.InsertionPoint(block):
            narrow = [a if number == i32 else arith.TruncIOp(i32, a).result for a in asked]
            hits = [arith.CmpIOp(arith.CmpIPredicate.eq, a, b).result for a, b in zip(narrow, here)]
            sofar = block.arguments[len(kinds) - 1]
            new = copied_body(scatter, [block.arguments[0], sofar])
            linalg.YieldOp([arith.SelectOp(all_true(hits), new, sofar).result])
    scatter.results[0].replace_all_uses_with(made.results[0])
    scatter.erase()
    return True
