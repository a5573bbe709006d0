"""npuflow-sum-integers: sums of integers that were scaled are sums of integers, scaled behind that."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, shape_of, zero
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.fold_extensions import number_of, steps_of
from npuflow.frontend.integer_products import dequantized
from npuflow.frontend.product_layers import moved_like, origin_of
from npuflow.ops.bundle_ops import is_filled_with_zeros
from npuflow.ops.contraction import is_parallel, producer
from npuflow.ops.linear import folds_by, input_count, iterators, loop_extents, maps_of

_SUM_BITS = 32
_MOST_SUMMED = 1 << 23  # of i8, without a sum that leaves i32


@register_pass
@dataclass(frozen=True)
class SumIntegers(Pass):
    """Adds up integers, where all that a sum reads are integers times one number, and multiplies the sums with that.

    A mean of windows of what another layer has rounded to i8 takes a third of the time then: cores add up more integers
    at a time than numbers of f32, and none is scaled first.

        %f = linalg.generic ins(%x : tensor<8x32xi8>) outs(... : tensor<8x32xf32>) { arith.sitofp, arith.mulf %c }
        %s = linalg.generic ... ["parallel", "reduction"] ins(%f : ...) outs(%zeros : tensor<8xf32>) { arith.addf }

    becomes

        %t = linalg.generic ... ["parallel", "reduction"] ins(%x : ...) outs(... : tensor<8xi32>) { arith.addi }
        %s = linalg.generic ins(%t : tensor<8xi32>) outs(... : tensor<8xf32>) { arith.sitofp, arith.mulf %c }

    That changes roundings, so it is in no pipeline: `--compute-type=i8` runs it, and what it makes is the program that
    others are compared with.
    """

    name = "npuflow-sum-integers"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for summed in ops_of(op, "linalg.generic"):
            scale = _scale_of(summed) if _adds_up(summed) else None
            if scale is not None:
                summed.results[0].replace_all_uses_with(_sums_scaled(summed, scale))
                summed.erase()
                context.count("sums of integers")


def _adds_up(op: ir.Operation) -> bool:
    """Whether an op adds up elements of its first operand, from zero on, and does nothing else."""
    if is_parallel(op) or not folds_by(op, "arith.addf") or not is_filled_with_zeros(op.operands[input_count(op)]):
        return False
    summed = prod(size for size, kind in zip(loop_extents(op), iterators(op)) if kind == "reduction")
    return summed <= _MOST_SUMMED and str(element_type_of(op.results[0])) == "f32"


def _scale_of(op: ir.Operation) -> ir.Operation | None:
    """The op that makes floats of a tensor of i8, as it lies, times a number, which a sum reads."""
    scale = producer(origin_of(op.operands[0]), "linalg.generic")
    steps = steps_of(scale) if scale is not None else []
    if scale is None or len(set(maps_of(scale))) > 1 or not steps or steps[0].name != "arith.sitofp":
        return None
    if str(element_type_of(scale.operands[0])) != "i8":
        return None
    return scale if [step.name for step in steps[1:] if step.name != "arith.extf"] == ["arith.mulf"] else None


def _sums_scaled(op: ir.Operation, scale: ir.Operation) -> ir.Value:
    """The sums of integers, times what these were scaled with."""
    shape, wide = shape_of(op.results[0]), ir.IntegerType.get_signless(_SUM_BITS, op.context)
    (number,) = (number_of(step.operands[1].owner.operation) for step in steps_of(scale) if step.name == "arith.mulf")
    assert number is not None, "what only makes wider is scaled by a constant"
    with at(op):
        read = moved_like(op.operands[0], scale.results[0], scale.operands[0])
        inputs = [read, *list(op.operands)[1 : input_count(op)]]
        sums = generic_op(inputs, [fill(zero(wide), empty(shape, wide))], maps_of(op), iterators(op))
        kinds = [*map(element_type_of, inputs), wide]
        block = sums.regions[0].blocks.append(*kinds)
        with ir.InsertionPoint(block):
            extended = arith.ExtSIOp(wide, block.arguments[0]).result
            linalg.YieldOp([arith.AddIOp(block.arguments[len(inputs)], extended).result])
        return dequantized(sums.results[0], number)
