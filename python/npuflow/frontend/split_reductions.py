"""npuflow-split-reductions: reductions to little are done in parts, which cores can share."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, in_parts_along, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer
from npuflow.ops.linear import input_count, is_reduction, iterators, linear_maps, loop_extents, maps_of

# What a sum starts from without changing it; None where what it was to start from may come in again and again.
_NEUTRAL: dict[str, int | None] = {
    **dict.fromkeys(("arith.addf", "arith.addi", "arith.ori", "arith.xori"), 0),
    **dict.fromkeys(("arith.mulf", "arith.muli"), 1),
    "arith.andi": -1,
    **dict.fromkeys(("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"), None),
    **dict.fromkeys(("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"), None),
}
# Less than that many elements per result are read by one core before others could begin, and may share a tile with ops
# that read them again.
_MANY_ELEMENTS = 32768
_FEW_RESULTS, _MOST_PARTS = 8, 64


@register_pass
@dataclass(frozen=True)
class SplitReductions(Pass):
    """Reduces much to few elements in two steps: parts side by side, then the parts.

    One reduction loop is cut into up to 64 equal parts, which become a parallel loop; they must divide its size.

        %r = linalg.generic ... iterator_types = ["reduction"] ins(%x : tensor<65536xf32>) outs(%f : tensor<f32>)

    becomes

        %y = tensor.expand_shape %x [[0, 1]] : tensor<65536xf32> into tensor<64x1024xf32>
        %p = linalg.generic ... iterator_types = ["reduction", "parallel"] ins(%y) outs(%g : tensor<64xf32>)
        %r = linalg.generic ... iterator_types = ["reduction"] ins(%p : tensor<64xf32>) outs(%f : tensor<f32>)
    """

    name = "npuflow-split-reductions"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            combiner = _combiner(generic)
            loop = None if combiner is None else _loop_to_split(generic)
            if combiner is not None and loop is not None:
                _split(generic, combiner, *loop)
                context.count("reductions split")


def _combiner(op: ir.Operation) -> ir.Operation | None:
    """The op that adds an element to what a lone result has so far, if that is all that happens to the result."""
    if len(op.results) != 1 or producer(op.operands[len(op.operands) - 1], "linalg.fill") is None:
        return None
    body = op.regions[0].blocks[0]
    sofar = body.arguments[len(body.arguments) - 1]
    combined = producer(list(body.operations)[-1].operation.operands[0], *_NEUTRAL)
    uses = [use.owner.operation for use in sofar.uses]
    return combined if combined is not None and uses == [combined] else None


def _loop_to_split(op: ir.Operation) -> tuple[int, int] | None:
    """A reduction loop, and into how many parts; None where there is enough to share already, or nothing divides."""
    maps, extents = linear_maps(op), loop_extents(op)
    if maps is None or 0 in extents:
        return None
    parallel = [size for loop, size in enumerate(extents) if not is_reduction(op, loop)]
    if prod(parallel) > _FEW_RESULTS or prod(extents) // prod(parallel) < _MANY_ELEMENTS:
        return None
    found: tuple[int, int] | None = None
    for loop, size in enumerate(extents):
        parts = next((p for p in range(min(_MOST_PARTS, size), 1, -1) if size % p == 0), 1)
        if is_reduction(op, loop) and parts > (found[1] if found else 1) and _is_plain(op, loop):
            found = loop, parts
    return found


def _is_plain(op: ir.Operation, loop: int) -> bool:
    """Whether operands are indexed by a loop alone, and can be seen in another shape."""
    maps = linear_maps(op) or []
    for value, dims in list(zip(op.operands, maps))[: input_count(op)]:
        following = [dim for dim in dims if any(loop == own for own, _ in dim.terms)]
        if any(dim.loop is None for dim in following) or len(following) > 1:
            return False
        if following and producer(value, "tensor.pad") is not None:
            return False
    return True


def _split(op: ir.Operation, combiner: ir.Operation, loop: int, parts: int) -> None:
    inputs, loops = input_count(op), len(iterators(op))
    maps = maps_of(op)
    new = ir.AffineExpr.get_dim(loops)
    init = op.operands[inputs]
    element = element_type_of(init)
    with at(op):
        filled = producer(init, "linalg.fill")
        assert filled is not None
        start = _start(combiner, element, filled.operands[0])
        operands, wide = [], []
        for value, map_ in zip(list(op.operands)[:inputs], maps):
            found = [d for d, r in enumerate(map_.results) if r == ir.AffineExpr.get_dim(loop)]
            operands.append(in_parts_along(value, found[0], parts) if found else value)
            results = [e for d, r in enumerate(map_.results) for e in ([new, r] if d in found else [r])]
            wide.append(ir.AffineMap.get(loops + 1, 0, results))
        wide.append(ir.AffineMap.get(loops + 1, 0, [*maps[inputs].results, new]))
        shape = [*shape_of(init), parts]
        wide_start = fill(start, empty(shape, element))
        partial = generic_op(operands, [wide_start], wide, [*iterators(op), "parallel"], dict(op.attributes))
        op.regions[0].blocks[0].append_to(partial.regions[0])
        total = _combine_parts(combiner.name, partial.results[0], init)
    op.results[0].replace_all_uses_with(total)
    op.erase()


def _start(combiner: ir.Operation, element: ir.Type, filled: ir.Value) -> ir.Value:
    number = _NEUTRAL[combiner.name]
    if number is None:
        return filled
    is_float = isinstance(element, ir.FloatType)
    value = ir.FloatAttr.get(element, float(number)) if is_float else ir.IntegerAttr.get(element, number)
    return arith.ConstantOp(element, value).result


def _combine_parts(combiner: str, partial: ir.Value, init: ir.Value) -> ir.Value:
    """The parts, the last dimension of `partial`, reduced to what they are parts of."""
    rank = len(shape_of(init))
    every = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    maps = [ir.AffineMap.get(rank + 1, 0, every), ir.AffineMap.get(rank + 1, 0, every[:rank])]
    total = generic_op([partial], [init], maps, ["parallel"] * rank + ["reduction"])
    element = element_type_of(init)
    block = total.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        combined = ir.Operation.create(combiner, [element], list(block.arguments))
        linalg.YieldOp([combined.results[0]])
    return total.results[0]
