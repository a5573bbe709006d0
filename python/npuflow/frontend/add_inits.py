"""npuflow-add-inits: what a sum of products begins with is added behind it, where few elements are repeated."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, is_static, shape_of, zero
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.collapse_contractions import is_collapsible
from npuflow.ops.contraction import BUNDLE, STRATEGY, is_elementwise, producer
from npuflow.ops.linear import input_count, linear_maps, loop_extents
from npuflow.ops.reshapes import unreshaped


@register_pass
@dataclass(frozen=True)
class AddInits(Pass):
    """Lets sums of products that are matmuls begin with zeros, and adds what they began with behind them.

    What is repeated along a dimension, as a bias is, would be written out to begin with: a matmul reads its init from
    memory. Its tail reads each element once. Windows stay as they are: they are bundles, which repeat it on their tile.

        %b = linalg.generic ... ins(%bias : tensor<64xf32>) outs(... : tensor<64x1024xf32>) { linalg.yield %in }
        %r = linalg.generic ... ins(%w, %x : ...) outs(%b : tensor<64x1024xf32>) { arith.mulf ... arith.addf }

    becomes

        %b = linalg.generic ... ins(%bias : tensor<64xf32>) outs(... : tensor<64x1024xf32>) { linalg.yield %in }
        %f = linalg.fill ins(%zero : f32) outs(... : tensor<64x1024xf32>)
        %r = linalg.generic ... ins(%w, %x : ...) outs(%f : tensor<64x1024xf32>) { arith.mulf ... arith.addf }
        %s = linalg.generic ... ins(%r, %b : ...) outs(... : tensor<64x1024xf32>) { arith.addf }

    What makes %b is part of %s once elementwise ops are fused.
    """

    name = "npuflow-add-inits"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            said = any(name in generic.attributes for name in (BUNDLE, STRATEGY))
            if not said and is_collapsible(generic) and _begins_repeated(generic):
                _add_behind(generic)
                context.count("inits added")


def _begins_repeated(op: ir.Operation) -> bool:
    """Whether an op begins with what an elementwise op repeats along a dimension, of all that it reads."""
    source = producer(unreshaped(op.operands[input_count(op)]), "linalg.generic")
    maps = None if source is None or not is_elementwise(source) or not is_static(source) else linear_maps(source)
    if source is None or maps is None or not input_count(source):
        return False
    long = {loop for loop, size in enumerate(loop_extents(source)) if size > 1}
    return all(long - {loop for dim in dims for loop, _ in dim.terms} for dims in maps[:-1])


def _add_behind(op: ir.Operation) -> None:
    place = input_count(op)
    init, sums = op.operands[place], op.results[0]
    element, shape = element_type_of(init), shape_of(init)
    with at(op):
        op.operands[place] = fill(zero(element), empty(shape, element))
    identity = ir.AffineMap.get_identity(len(shape))
    with at(op, after=True):
        added = generic_op([sums, init], [empty(shape, element)], [identity] * 3, ["parallel"] * len(shape))
        block = added.regions[0].blocks.append(*[element] * 3, arg_locs=[op.location] * 3)
    with ir.InsertionPoint(block), op.location:
        add = arith.AddFOp if isinstance(element, ir.FloatType) else arith.AddIOp
        linalg.YieldOp([add(block.arguments[0], block.arguments[1]).result])
    sums.replace_all_uses_except(added.results[0], added)
