"""npuflow-promote-operands: operands into L2, padded to full tiles."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import apply_steps, at
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import (
    LHS,
    RHS,
    Contraction,
    enclosing,
    k_loops,
    matmuls,
    operand_loops,
    tail_of,
)
from npuflow.promotion.shared_slices import promote_to_l2, shared_slice
from npuflow.strategy.strategy import required_sizes


@register_pass
@dataclass(frozen=True)
class PromoteOperands(Pass):
    """Moves the left and right operand of each matmul, and what its tail reads, into L2.

    What is moved doesn't depend on a core's place in the grid: it is the slice that all cores share. It is moved in the
    innermost loop it depends on: once per block if no K loop exists yet, else once per step of that loop. Boundary
    tiles are zero-filled first, then their valid part is moved.

        scf.forall (%y, %x) in (2, 2) ... {
          scf.for %k ... {
            %a_k = tensor.extract_slice %a_row[0, %k] [32, 256] [1, 1]      // this core's rows of %a_block
            linalg.matmul ins(%a_k, ...)

    becomes

        scf.forall (%y, %x) in (2, 2) ... {
          scf.for %k ... {
            %a_l3 = tensor.extract_slice %a_block[0, %k] [64, 256] [1, 1]   // all cores' rows
            %buffer = bufferization.alloc_tensor() {memory_space = 1 : i64} : tensor<64x256xf32>
            %a_l2 = linalg.copy ins(%a_l3) outs(%buffer)
            %a_k = tensor.extract_slice %a_l2[%row, 0] [32, 256] [1, 1]
            linalg.matmul ins(%a_k, ...)
    """

    name = "npuflow-promote-operands"
    group = "promotion"
    tile_copies: bool = option(False, "copy operands in pieces of the L2 tile's k (for whole-K operands)")
    copy_k: int | None = option(None, "with tile-copies, k of a piece; default: the strategy's tile-l2")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for contraction in matmuls(op, context):
            tile = self._copy_tile(contraction, context)
            for index in (LHS, RHS):
                copy = _promote(contraction, contraction.op, index, context)
                if copy is not None and tile:
                    _tile_copy(copy, contraction, index, tile)
            tail = tail_of(contraction)
            for index in _tail_operands(contraction, tail):
                assert tail is not None
                _promote(contraction, tail, index, context)

    def _copy_tile(self, contraction: Contraction, context: PassContext) -> int:
        if not self.tile_copies:
            return 0
        given = None if self.copy_k is None else (self.copy_k,)
        sizes = required_sizes(self, contraction, context, given, lambda strategy: strategy.tile_l2[2:])
        return sizes[0] if sizes else 0


def _tail_operands(contraction: Contraction, tail: ir.Operation | None) -> list[int]:
    """The tensors a tail reads besides the sum."""
    if tail is None:
        return []
    inner = {contraction.result, *(loop.results[0] for loop in k_loops(contraction))}
    inputs = range(len(tail.operands) - 1)
    return [i for i in inputs if isinstance(tail.operands[i].type, ir.ShapedType) and tail.operands[i] not in inner]


def _promote(contraction: Contraction, op: ir.Operation, index: int, context: PassContext) -> ir.Operation | None:
    """Promotes one operand of `op`, and returns the copy that moves it."""
    loops = k_loops(contraction)
    scope = enclosing(op, "scf.forall") or (loops[-1] if loops and op == contraction.op else None)
    shared = shared_slice(op.operands[index], scope)
    if shared is None:
        context.error(
            op,
            f"operand {index} of {op.name} is no slice of its block that all cores could share in L2",
            "tile it by npuflow-tile-blocks, npuflow-tile-cores and npuflow-tile-k only",
        )
        return None
    place = op if scope is None or shared.follows_k else scope
    with at(place):
        value, copy = promote_to_l2(shared)
    with at(op):
        op.operands[index] = shared.core_part(value)
    context.count("operands promoted to L2")
    return copy


def _tile_copy(copy: ir.Operation, contraction: Contraction, index: int, tile: int) -> None:
    """Turns the movement into a loop over pieces of K."""
    sizes = [tile if loop in contraction.k else 0 for loop in operand_loops(contraction.op)[index]]
    apply_steps(
        copy,
        f"%tiled, %loop = transform.structured.tile_using_for %op tile_sizes {sizes}"
        " : (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
    )
