"""npuflow-normalize-linalg: one spelling for every operator."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.frontend.contraction import (
    LHS,
    RHS,
    Contraction,
    contractions,
    producer,
)
from npuflow.frontend.fuse_elementwise import FuseElementwise
from npuflow.frontend.generalize_operators import GeneralizeOperators
from npuflow.frontend.sink_constants import SinkConstants


@register_pass
@dataclass(frozen=True)
class NormalizeLinalg(Pass):
    """One spelling for every operator: runs the passes that make it, in order.

    They are npuflow-generalize-operators, npuflow-fuse-elementwise and npuflow-sink-constants.

        %bt = linalg.transpose ins(%b : tensor<64x32xf32>) outs(...) permutation = [1, 0]
        %r = linalg.matmul ins(%a, %bt : ...) outs(%f : ...)
        %s = linalg.add ins(%r, %c : ...) outs(...)
        %t = linalg.max ins(%s, %zeros : ...) outs(...)

    becomes

        %r = linalg.matmul indexing_maps = [...] ins(%a, %b : ...) outs(%f : ...)
        %t = linalg.generic ... ins(%r, %c : ...) { arith.addf ... arith.maximumf ... }
    """

    name = "npuflow-normalize-linalg"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for contraction in contractions(op):
            for index in (LHS, RHS):
                context.count("transposes folded", _fold_transposes(contraction, index))
        for step in (GeneralizeOperators(), FuseElementwise(), SinkConstants()):
            step.run(op, context)


def _fold_transposes(contraction: Contraction, index: int) -> int:
    """Reads a transposed operand as it lies, by changing the operand's indexing map; returns how many were folded."""
    op = contraction.op
    count = 0
    while (transpose := producer(op.operands[index], "linalg.transpose")) is not None:
        permutation = list(ir.DenseI64ArrayAttr(transpose.attributes["permutation"]))
        if not _can_index(op, permutation):
            break
        op.attributes["indexing_maps"] = _composed_maps(op, index, permutation)
        op.operands[index] = transpose.operands[0]
        count += 1
    return count


def _can_index(op: ir.Operation, permutation: list[int]) -> bool:
    """Whether an op may read an operand that way: a named batch_matmul keeps its batch loop in front."""
    if "indexing_maps" not in op.attributes:
        return False
    return op.name != "linalg.batch_matmul" or permutation[0] == 0


def _composed_maps(op: ir.Operation, index: int, permutation: list[int]) -> ir.ArrayAttr:
    maps = [ir.AffineMapAttr(m).value for m in linalg.get_indexing_maps(op)]
    results = list(maps[index].results)
    source: list[ir.AffineExpr] = [results[0]] * len(results)
    for position, dimension in enumerate(permutation):
        source[dimension] = results[position]
    maps[index] = ir.AffineMap.get(maps[index].n_dims, 0, source)
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
