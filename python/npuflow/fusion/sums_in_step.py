"""Sums of products side by side in a bundle, made to go through what they sum up in step. Edits IR.

The operands of each then come piece by piece, in as many pieces as those of the others: of 64 and of 128 channels,
pieces of 16 and of 32. So a loop of each that sums up becomes two, of which the outer ones have as many steps:

    s = sum over i < 64 of x v        becomes        s = sum over p < 64 of x v
    t = sum over j < 128 of y w                      t = sum over p < 64, k < 2 of y w
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from npuflow.bindings import ir
from npuflow.core.build import at, element_type_of, generic_op, in_parts_along, padded_by, zero
from npuflow.ops.bundle import mark_step_loop
from npuflow.ops.contraction import producer
from npuflow.ops.linear import composed, input_count, is_reduction, iterators, linear_maps, loop_extents, maps_of
from npuflow.ops.products import keep_reshaped, sums_products


def in_step(ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Ops in program order whose sums of products go in step, where there are several that need none of the others.

    These come first then.
    """
    sums = [op for op in ops if sums_products(op)]
    loops = [loop for op in sums if (loop := _loop_of(op)) is not None]
    made = [result for op in ops for result in op.results]
    if len(sums) < 2 or len(loops) < len(sums) or any(value in made for op in sums for value in op.operands):
        return list(ops)
    steps = gcd(*(loop_extents(op)[loop] for op, loop in zip(sums, loops)))
    if steps == 1:
        return list(ops)
    *others, last = (op for op in ops if op not in sums)
    stepping = [_with_steps(op, loop, steps) for op, loop in zip(sums, loops)]
    for op in others:
        op.move_before(last)
    return [*stepping, *others, last]


def _loop_of(op: ir.Operation) -> int | None:
    """The longest loop that an op sums over along which it reads all operands element by element."""
    maps, sizes = (linear_maps(op) or [])[: input_count(op)], loop_extents(op)
    along = [loop for loop in range(len(sizes)) if is_reduction(op, loop)]
    plain = [
        loop
        for loop in along
        if all(dim.loop == loop for dims in maps for dim in dims if any(own == loop for own, _ in dim.terms))
    ]
    return max(plain, key=lambda loop: sizes[loop], default=None)


def _with_steps(op: ir.Operation, loop: int, steps: int) -> ir.Operation:
    """The op with a loop of so many steps in place of one, and one in it where a step has several indices."""
    size = loop_extents(op)[loop] // steps
    if size == 1:
        mark_step_loop(op, loop)
        return op
    inputs, count = input_count(op), len(iterators(op))
    kinds = list(iterators(op))
    kinds.insert(loop + 1, kinds[loop])
    others = ir.AffineMap.get(count + 1, 0, [ir.AffineExpr.get_dim(own + (own > loop)) for own in range(count)])
    operands, maps = list(op.operands), [composed(map_, others) for map_ in maps_of(op)]
    with at(op):
        for number, dims in enumerate((linear_maps(op) or [])[:inputs]):
            places = [place for place, dim in enumerate(dims) if dim.loop == loop]
            for place in places:
                operands[number] = _split(operands[number], place, steps)
                results = [*maps[number].results]
                results.insert(place + 1, ir.AffineExpr.get_dim(loop + 1))
                maps[number] = ir.AffineMap.get(count + 1, 0, results)
        made = generic_op(operands[:inputs], operands[inputs:], maps, kinds)
        copy = op.clone().operation
    copy.regions[0].blocks[0].append_to(made.regions[0])
    copy.erase()
    keep_reshaped(op, made)
    mark_step_loop(made, loop)
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
    return made


def _split(value: ir.Value, place: int, parts: int) -> ir.Value:
    """A tensor one of whose dimensions comes in so many parts; zeros around others are around what comes so."""
    if (pad := producer(value, "tensor.pad")) is not None:
        low, high = (list(ir.DenseI64ArrayAttr(pad.attributes[name])) for name in ("static_low", "static_high"))
        source = _split(pad.operands[0], place, parts)
        for around in (low, high):
            around.insert(place + 1, 0)
        return padded_by(source, low, high, zero(element_type_of(value)))
    return in_parts_along(value, place, parts)
