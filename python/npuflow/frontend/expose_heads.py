"""npuflow-expose-heads: matmuls that read what an elementwise op makes for them are linalg.generics."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import apply_steps
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import has_heads, match_contraction


@register_pass
@dataclass(frozen=True)
class ExposeHeads(Pass):
    """Generalizes named matmuls with a head: a cheap elementwise op in front that only they read.

    The two become a bundle, so that a dequantised or scaled operand exists in L1 only.

        %d = linalg.generic ... ins(%w : tensor<64x32xi8>) outs(... : tensor<64x32xbf16>) { arith.sitofp }
        %r = linalg.matmul ins(%a, %d : ...) outs(...)

    becomes

        %d = linalg.generic ... { arith.sitofp }
        %r = linalg.generic ... ins(%a, %d : ...) outs(...) { arith.mulf ... arith.addf }
    """

    name = "npuflow-expose-heads"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for named in ops_of(op):
            contraction = match_contraction(named) if named.name != "linalg.generic" else None
            if contraction is None or not has_heads(contraction):
                continue
            apply_steps(named, "%g = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op")
            context.count("matmuls with heads")
