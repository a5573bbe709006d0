"""npuflow-pack-operands: operands and accumulator into L1, in the matmul instruction's shape."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import allocate, apply_steps, at, copy_into, element_type_of, shape_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import (
    INIT,
    STRATEGY,
    Contraction,
    matmuls,
    operand_loops,
    producer,
    tail_of,
)
from npuflow.ops.products import RESHAPED
from npuflow.promotion.shared_slices import L1
from npuflow.strategy.strategy import required_sizes

_MARK = "npu.packing"


@register_pass
@dataclass(frozen=True)
class PackOperands(Pass):
    """Packs each matmul into tiles of the instruction's shape: lhs m x k, rhs k x n, accumulator m x n.

    The packs are the movement from L2 to L1. The tail is packed alike, so that it works on the accumulator as it lies.

        %t = linalg.matmul ins(%a, %b : tensor<32x32xi8>, tensor<32x32xi8>) outs(%acc : tensor<32x32xi32>)

    becomes, for 4,8,8,

        %ap = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %l1_a : ... -> tensor<8x4x4x8xi8>
        %bp = linalg.pack %b inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %l1_b : ... -> tensor<4x4x8x8xi8>
        %cp = linalg.pack %acc inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %l1_c : ... -> tensor<8x4x4x8xi32>
        %tp = linalg.generic ... ins(%ap, %bp) outs(%cp)
        %t = linalg.unpack %tp inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %acc
    """

    name = "npuflow-pack-operands"
    group = "promotion"
    pack: tuple[int, int, int] | None = option(None, "m,n,k of the instruction; default: the strategy's pack")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        count = 0
        for contraction in matmuls(op, context):
            sizes = required_sizes(self, contraction, context, self.pack, lambda strategy: strategy.pack)
            if sizes is None:
                continue
            count += 1
            m, n, k = sizes
            tail = tail_of(contraction)
            if tail is not None:
                _pack_tail(contraction, tail, m, n)
            _pack_matmul(contraction, m, n, k)
        for packed in ops_of(op, "linalg.generic"):
            if _MARK in packed.attributes:
                del packed.attributes[_MARK]
                _into_l1(packed)
        context.count("matmuls packed", count)


def _pack_matmul(contraction: Contraction, m: int, n: int, k: int) -> None:
    sizes = contraction.by_role(m, n, k)
    keep = ""
    if STRATEGY in contraction.op.attributes:
        keep = (
            f"%strategy = transform.param.constant {contraction.op.attributes[STRATEGY]} -> !transform.any_param\n"
            f'transform.annotate %matmul "{STRATEGY}" = %strategy : !transform.any_op, !transform.any_param\n'
        )
    if RESHAPED in contraction.op.attributes:
        keep += f'transform.annotate %matmul "{RESHAPED}" : !transform.any_op\n'
    apply_steps(
        contraction.op,
        f"%packed = transform.structured.pack %op packed_sizes = {sizes}"
        ' : (!transform.any_op) -> !transform.op<"linalg.generic">\n'
        "%rhs = transform.get_producer_of_operand %packed[1]"
        ' : (!transform.op<"linalg.generic">) -> !transform.op<"linalg.pack">\n'
        "%matmul, %new, %none = transform.structured.pack_transpose %rhs with_compute_op(%packed) inner_perm = [1, 0]"
        ' : (!transform.op<"linalg.pack">, !transform.op<"linalg.generic">)'
        ' -> (!transform.any_op, !transform.op<"linalg.pack">, !transform.any_op)\n'
        f'transform.annotate %matmul "{_MARK}" : !transform.any_op\n{keep}',
    )


def _pack_tail(contraction: Contraction, tail: ir.Operation, m: int, n: int) -> None:
    sizes = contraction.by_role(m, n, 0)
    result_loops = operand_loops(contraction.op)[INIT]
    apply_steps(
        tail,
        f"%packed = transform.structured.pack %op packed_sizes = {[sizes[loop] for loop in result_loops]}"
        ' : (!transform.any_op) -> !transform.op<"linalg.generic">\n'
        f'transform.annotate %packed "{_MARK}" : !transform.op<"linalg.generic">',
    )


def _into_l1(packed: ir.Operation) -> None:
    """Gives every operand of a packed op that comes from L2, and a tail's result, a buffer in L1."""
    for index, value in enumerate(packed.operands):
        source = producer(value, "linalg.pack", "linalg.copy", "tensor.extract_slice", "tensor.insert_slice")
        if source is None:
            continue
        with at(packed):
            buffer = allocate(shape_of(value), element_type_of(value), L1)
        if source.name != "linalg.pack":
            with at(packed):
                packed.operands[index] = copy_into(value, buffer)
            continue
        _drop_identity_permutation(source)
        buffer.owner.operation.move_before(source)
        source.operands[1] = buffer
        if producer(source.operands[0], "tensor.empty") is not None:
            packed.operands[index] = buffer


def _drop_identity_permutation(pack: ir.Operation) -> None:
    if "outer_dims_perm" not in pack.attributes:
        return
    permutation = list(ir.DenseI64ArrayAttr(pack.attributes["outer_dims_perm"]))
    if permutation == list(range(len(permutation))):
        pack.attributes["outer_dims_perm"] = ir.DenseI64ArrayAttr.get([], context=pack.context)
