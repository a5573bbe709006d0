"""Lookups as loops over what is asked for: each goes to its place, rather than along all places.

    linalg.generic ins(%table, %asked, %positions) outs(%o) attrs = {npu.lookup} { select (%asked == %position), ... }

becomes

    scf.for %i {
      %place = %asked[%i] - %positions[0]
      scf.if 0 <= %place < size { %o[%i] = %table[%place] } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import affine, arith, ir, linalg, memref, scf
from npuflow.core.build import at
from npuflow.core.copies import cloned
from npuflow.core.passes import ops_of
from npuflow.ops.linear import is_reduction, iterators, loop_extents
from npuflow.ops.lookups import Lookup, chosen_value, inputs_behind, lookups_of, values_behind

_Loops = Mapping[int, "ir.Value"]


def look_up(module: ir.Module) -> None:
    """Lowers every marked op on memrefs."""
    for op in ops_of(module.operation, "linalg.generic"):
        found = lookups_of(op)
        if found:
            with at(op):
                _loops_around(op, found, _order(op, found), {})
            op.erase()


def _order(op: ir.Operation, found: Sequence[Lookup]) -> list[int]:
    """The loops that are gone through, those that change a result's element again and again innermost, as in linalg."""
    rest = [loop for loop in range(len(iterators(op))) if loop not in {one.loop for one in found}]
    return sorted(rest, key=lambda loop: is_reduction(op, loop))


def _loops_around(op: ir.Operation, found: Sequence[Lookup], order: Sequence[int], at_loops: _Loops) -> None:
    if not order:
        _at_places(op, found, dict(at_loops))
        return
    first, *rest = order
    loop = scf.ForOp(_index(0), _index(loop_extents(op)[first]), _index(1))
    with ir.InsertionPoint(loop.body):
        _loops_around(op, found, rest, {**at_loops, first: loop.induction_variable})
        scf.YieldOp([])


def _at_places(op: ir.Operation, found: Sequence[Lookup], loops: dict[int, ir.Value]) -> None:
    """The body once, at the places that are asked for, if they are all there."""
    hits, places = [], {}
    for one in found:
        asked = _computed(op, one.asked, loops)
        first = _computed(op, one.here, {**loops, one.loop: _index(0)})
        place = arith.SubIOp(asked, first).result
        if not isinstance(place.type, ir.IndexType):
            place = arith.IndexCastOp(ir.IndexType.get(), place).result
        places[one.loop] = place
        size = _index(loop_extents(op)[one.loop])
        hits.append(arith.CmpIOp(arith.CmpIPredicate.ult, place, size).result)
    is_there = hits[0]
    for hit in hits[1:]:
        is_there = arith.AndIOp(is_there, hit).result
    branch = scf.IfOp(is_there)
    with ir.InsertionPoint(branch.then_block):
        chosen = chosen_value(op)
        assert chosen is not None, "a lookup keeps its result elsewhere"
        inside = {**loops, **places}
        last = len(op.operands) - 1
        new = _computed(op, chosen.operands[1], inside)
        memref.StoreOp(new, op.operands[last], _element(op, last, inside))
        scf.YieldOp([])


def _computed(op: ir.Operation, value: ir.Value, loops: _Loops) -> ir.Value:
    """A value of the body for one step of the loops, from the operands' elements there."""
    arguments = list(op.regions[0].blocks[0].arguments)
    copies: dict[ir.Value, ir.Value] = {}
    needed = values_behind(op, value)
    for number in sorted(inputs_behind(op, value)):
        operand = op.operands[number]
        is_scalar = not isinstance(operand.type, ir.ShapedType)
        element = operand if is_scalar else memref.LoadOp(operand, _element(op, number, loops)).result
        copies[arguments[number]] = element
    for child in op.regions[0].blocks[0].operations:
        if any(result in needed for result in child.operation.results):
            copies.update(zip(child.operation.results, cloned(child.operation, copies)))
    return copies.get(value, value)


def _element(op: ir.Operation, number: int, loops: _Loops) -> list[ir.Value]:
    """Where an operand's element of a step is; a loop that its map doesn't follow may be anywhere."""
    map_ = ir.AffineMapAttr(linalg.get_indexing_maps(op)[number]).value
    at_all = [loops[loop] if loop in loops else _index(0) for loop in range(map_.n_dims)]
    one = [ir.AffineMap.get(map_.n_dims, 0, [result]) for result in map_.results]
    return [affine.AffineApplyOp(each, at_all).result for each in one]


def _index(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), value).result
