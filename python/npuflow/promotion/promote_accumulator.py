"""npuflow-promote-accumulator: the sum lives in L1 and leaves through L2."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import allocate, at, copy_into, element_type_of, shape_of
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import (
    INIT,
    Contraction,
    enclosing,
    fill_of,
    final_result,
    matmuls,
    tail_of,
)
from npuflow.promotion.promote_result import promote_result
from npuflow.promotion.shared_slices import L1, promote_to_l2, shared_slice


@register_pass
@dataclass(frozen=True)
class PromoteAccumulator(Pass):
    """Gives each core's accumulator a buffer in L1, and each block's result one in L2 that the cores fill together.

    A result that fills a whole tensor by itself is copied to L3 behind the grid; others are inserted into one there.
    An accumulator that is filled never moves inward; one that continues a given sum is read in once, before any K loop.

        %r = scf.forall ... shared_outs(%out = %block) {
          %f = linalg.fill ... outs(%e : tensor<32x32xf32>)
          %t = linalg.matmul ... outs(%f)
          scf.forall.in_parallel { tensor.parallel_insert_slice %t into %out[...] }

    becomes

        %l2 = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x64xf32>
        %r = scf.forall ... shared_outs(%out = %l2) {
          %l1 = bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<32x32xf32>
          %f = linalg.fill ... outs(%l1 : tensor<32x32xf32>)
          %t = linalg.matmul ... outs(%f)
          %part = tensor.extract_slice %out[...] [32, 32] [1, 1]
          %c = linalg.copy ins(%t) outs(%part)
          scf.forall.in_parallel { tensor.parallel_insert_slice %c into %out[...] }
    """

    name = "npuflow-promote-accumulator"
    group = "promotion"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for contraction in matmuls(op, context):
            promote_result(_root_value(contraction), reads=_continues_result(contraction))
            _promote_sum(contraction)
            context.count("accumulators promoted to L1")


def _promote_sum(contraction: Contraction) -> None:
    """The accumulator itself, in L1."""
    filled = fill_of(contraction)
    value = contraction.init if filled is not None else _given_sum(contraction)
    with at(filled or contraction.op):
        buffer = allocate(shape_of(value), element_type_of(value), L1)
        if filled is None:
            contraction.op.operands[INIT] = copy_into(value, buffer)
        else:
            filled.operands[1] = buffer


def _given_sum(contraction: Contraction) -> ir.Value:
    """The core's part of a given sum, in L2: the result's buffer holds it unless a tail makes something else of it."""
    grid = enclosing(contraction.op, "scf.forall")
    shared = shared_slice(contraction.init, grid)
    if shared is None or (grid is not None and tail_of(contraction) is None):
        return contraction.init
    with at(grid or contraction.op):
        value, _ = promote_to_l2(shared)
    with at(contraction.op):
        return shared.core_part(value)


def _root_value(contraction: Contraction) -> ir.Value:
    """What leaves the group."""
    tail = tail_of(contraction)
    return tail.results[0] if tail else final_result(contraction)


def _continues_result(contraction: Contraction) -> bool:
    """Whether the block's result in L2 starts as a given sum."""
    return fill_of(contraction) is None and tail_of(contraction) is None
