"""npuflow-promote-accumulator: the sum lives in L1 and leaves through L2."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import allocate, at, copy_into, element_type_of, empty, extract_slice, mixed, shape_of
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.frontend.contraction import (
    INIT,
    Contraction,
    enclosing,
    fill_of,
    final_result,
    matmuls,
    only_user,
    tail_of,
)
from npuflow.promotion.shared_slices import L1, L2, promote_to_l2, shared_slice


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
            _promote_result(contraction)
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
    if shared.core_sizes == shared.sizes:
        return value
    with at(contraction.op):
        return extract_slice(value, shared.core_offsets, shared.core_sizes)


def _promote_result(contraction: Contraction) -> None:
    """The block's result, in L2."""
    tail = tail_of(contraction)
    result = tail.results[0] if tail else final_result(contraction)
    grid = enclosing(contraction.op, "scf.forall")
    insert = only_user(result)
    if grid is None or insert is None or insert.name != "tensor.parallel_insert_slice":
        with at(result.owner.operation, after=True):
            moved = copy_into(result, allocate(shape_of(result), element_type_of(result), L2))
        result.replace_all_uses_except(moved, moved.owner.operation)
        _write_back(moved)
        return
    output = len(grid.operands) - 1
    block = grid.operands[output]
    with at(grid):
        reads = fill_of(contraction) is None and tail is None
        shared = shared_slice(block, None)
        assert shared is not None
        buffer = promote_to_l2(shared)[0] if reads else allocate(shape_of(block), element_type_of(block), L2)
        grid.operands[output] = buffer
    view = insert.opview
    offsets = mixed(list(ir.DenseI64ArrayAttr(view.static_offsets)), list(view.offsets))
    with at(result.owner.operation, after=True):
        part = extract_slice(insert.operands[1], offsets, shape_of(result))
        moved = copy_into(result, part)
    insert.operands[0] = moved
    _write_back(grid.results[0])


def _write_back(value: ir.Value) -> None:
    """Copies a result in L2, or the valid part of it, to L3 where it isn't inserted into a larger tensor there."""
    source = value.owner.operation
    stays = []
    for use in list(value.uses):
        user = use.owner.operation
        if user.name == "tensor.extract_slice" and user.block == source.block:
            _write_back(user.results[0])
        elif user.name != "tensor.insert_slice" or use.operand_number != 0:
            stays.append((user, use.operand_number))
    if not stays:
        return
    with at(source, after=True):
        copied = copy_into(value, empty(shape_of(value), element_type_of(value)))
    for user, number in stays:
        user.operands[number] = copied
