"""npuflow-fold-constants: what is computed from constants alone is a constant."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.constants.dtypes import has_dtype
from npuflow.constants.known_tensors import KnownTensors, sources_of, tensor_constant
from npuflow.core.build import at, element_type_of, is_static, tensor_bytes
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import is_parallel, only_moves


@register_pass
@dataclass(frozen=True)
class FoldConstants(Pass):
    """Computes elementwise ops that read constants and nothing else: a batch norm's root, a flipped kernel.

        %v = arith.constant dense<[1.0, 4.0]> : tensor<2xf32>
        %r = linalg.generic ... ins(%v : tensor<2xf32>) { math.rsqrt }

    becomes

        %r = arith.constant dense<[1.0, 0.5]> : tensor<2xf32>

    What would take more bytes than the largest constant that it is made of, or more than 4 Mi elements, stays an op:
    weights that are extended are read as they are. So do transpositions and broadcasts, which cost nothing where they
    are read.
    """

    name = "npuflow-fold-constants"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        context.count("ops folded", fold_constants(op))


def fold_constants(op: ir.Operation) -> int:
    """Does what the pass says; returns how many ops are constants now."""
    known = KnownTensors()
    folded = sum(_is_worth_it(generic) and _fold(generic, known) for generic in ops_of(op, "linalg.generic"))
    for generic in reversed(ops_of(op, "linalg.generic")) if folded else ():
        if generic.results and not any(True for result in generic.results for _ in result.uses):
            generic.erase()
    return folded


def _is_worth_it(op: ir.Operation) -> bool:
    """Whether an op computes something, of no more bytes than it reads."""
    if not op.results or not is_parallel(op) or not is_static(op):
        return False
    if only_moves(op):
        return False
    read = [value for value in sources_of(op) if isinstance(value.type, ir.RankedTensorType)]
    if not all(has_dtype(str(element_type_of(value))) for value in (*read, *op.results)):
        return False
    return tensor_bytes(op.results[0]) <= max(map(tensor_bytes, read), default=0)


def _fold(op: ir.Operation, known: KnownTensors) -> bool:
    values = [known.of(result) for result in op.results]
    if any(value is None for value in values):
        return False
    for result, value in zip(op.results, values):
        if value is None:
            continue
        with at(op):
            made = arith.ConstantOp(result.type, tensor_constant(value, element_type_of(result))).result
        result.replace_all_uses_with(made)
    return True
