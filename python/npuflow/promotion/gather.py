"""Windows copied out one by one (im2col): a movement that gives each loop of an operand a dimension of its own."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import allocate, element_type_of, moved
from npuflow.ops.linear import is_reduction, iterators, linear_maps, loop_extents, maps_of, set_maps
from npuflow.ops.products import match_products
from npuflow.promotion.shared_slices import L1
from npuflow.strategy.strategy import strategy_of


def gathers(op: ir.Operation, number: int) -> bool:
    """Whether an op's strategy says that this operand's windows are gathered."""
    strategy = strategy_of(op)
    products = match_products(op) if strategy is not None and strategy.gather else None
    return products is not None and number in products.windowed


def gather(part: ir.Value, op: ir.Operation, number: int) -> ir.Value:
    """`part` of L2 in L1, pixels first, then what is summed; lets `op` index the operand by its loops alone."""
    maps = maps_of(op)
    own = {loop for dim in (linear_maps(op) or [])[number] for loop, _ in dim.terms}
    loops = sorted(own, key=lambda loop: (is_reduction(op, loop), loop))
    sizes = [loop_extents(op)[loop] for loop in loops]
    target = allocate(sizes, element_type_of(part), L1)
    # The source's map over the operand's own loops, in their order.
    dims = [
        ir.AffineExpr.get_dim(loops.index(loop)) if loop in loops else ir.AffineExpr.get_constant(0)
        for loop in range(len(iterators(op)))
    ]
    source_map = ir.AffineMap.get(len(loops), 0, [_composed(result, dims) for result in maps[number].results])
    target_map = ir.AffineMap.get_identity(len(loops))
    maps[number] = ir.AffineMap.get(len(iterators(op)), 0, [ir.AffineExpr.get_dim(loop) for loop in loops])
    set_maps(op, maps)
    return moved(part, target, source_map, target_map)


def _composed(expression: ir.AffineExpr, dims: list[ir.AffineExpr]) -> ir.AffineExpr:
    return expression.compose(ir.AffineMap.get(len(dims), 0, dims))
