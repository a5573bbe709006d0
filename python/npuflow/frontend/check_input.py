"""npuflow-check-input: refuses what cannot be compiled, all of it at once."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.contraction import Contraction, contractions, is_elementwise, match_contraction, root_of, tail_of

# Ops that surround a matmul and are folded, fused or kept as they are.
_AROUND = (
    "func.func",
    "func.return",
    "builtin.module",
    "arith.constant",
    "tensor.empty",
    "linalg.fill",
    "linalg.yield",
    "linalg.index",
)
_SUPPORTED = (
    "linalg.matmul, linalg.batch_matmul (also with transposed operands) and other contractions with one m, n and k loop, "
    "linalg.fill before and elementwise ops behind them"
)


@register_pass
@dataclass(frozen=True)
class CheckInput(Pass):
    """Refuses dynamic shapes, unsupported ops and elementwise ops that belong to no matmul; changes nothing.

    Runs on normalised input (npuflow-normalize-linalg), so that an op's spelling doesn't matter.

        %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, ...)

    is refused by

        error: linalg.matmul has a dynamic shape (tensor<?x64xf32>); hint: make every size static
    """

    name = "npuflow-check-input"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        groups = contractions(op)
        in_group = {c.op for c in groups} | {tail for c in groups if (tail := tail_of(c)) is not None}
        for candidate in _compute_ops(op):
            if _check_shapes(candidate, context):
                _check_kind(candidate, candidate in in_group, context)
        for contraction in groups:
            _check_loops(contraction, context)


def _compute_ops(op: ir.Operation) -> list[ir.Operation]:
    """Ops outside of linalg bodies."""
    return [o for o in ops_of(op) if not _inside_linalg(o)]


def _inside_linalg(op: ir.Operation) -> bool:
    parent = op.parent
    return parent is not None and parent.operation.name.startswith("linalg.")


def _check_shapes(op: ir.Operation, context: PassContext) -> bool:
    values = [*op.operands, *op.results]
    for value in values:
        if isinstance(value.type, ir.RankedTensorType) and ir.ShapedType(value.type).has_static_shape:
            continue
        if isinstance(value.type, (ir.RankedTensorType, ir.UnrankedTensorType)):
            context.error(op, f"{op.name} has a dynamic shape ({value.type})", "make every size static")
            return False
        if isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType)):
            context.error(op, f"{op.name} works on memrefs ({value.type})", "give the program on tensors")
            return False
    return True


def _check_kind(op: ir.Operation, in_group: bool, context: PassContext) -> None:
    if in_group or op.name in _AROUND:
        return
    if is_elementwise(op):
        context.error(
            op,
            "elementwise op is not the only consumer of a matmul's result, element by element",
            "let it consume one matmul's result that nothing else uses, in the same order of dimensions",
        )
        return
    if op.name in ("linalg.matmul", "linalg.batch_matmul", "linalg.generic") and match_contraction(op) is not None:
        return
    context.error(op, f"unsupported op {op.name}", f"supported are {_SUPPORTED}")


def _check_loops(contraction: Contraction, context: PassContext) -> None:
    counts = {"m": len(contraction.m), "n": len(contraction.n), "k": len(contraction.k)}
    wrong = [f"{count} {role} loops" for role, count in counts.items() if count != 1]
    if wrong:
        what = f"{contraction.op.name} has {' and '.join(wrong)}"
        context.error(contraction.op, what, "reshape it to a matmul with one m, n and k loop, and batch loops")
    if not root_of(contraction).results:
        context.error(contraction.op, f"{contraction.op.name} has no tensor result", "give the program on tensors")


