"""npuflow-peel-k: the first and the last step of K get code of their own."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import contractions, k_loops, producer


@register_pass
@dataclass(frozen=True)
class PeelK(Pass):
    """Splits the outermost K loop of each matmul into its first step, the rest, and its last step.

    The parts are loops of one step, which canonicalize inlines. Loops of one step stay as they are.

        %r = scf.for %k = %c0 to %c2048 step %c256 iter_args(%acc = %f) { ... }

    becomes

        %first = scf.for %k = %c0 to %c256 step %c256 iter_args(%acc = %f) { ... }
        %middle = scf.for %k = %c256 to %c1792 step %c256 iter_args(%acc = %first) { ... }
        %r = scf.for %k = %c1792 to %c2048 step %c256 iter_args(%acc = %middle) { ... }
    """

    name = "npuflow-peel-k"
    group = "promotion"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        outermost = [loops[-1] for c in contractions(op) if (loops := k_loops(c))]
        for loop in outermost:
            if _peel(loop):
                context.count("K loops peeled")


def _constant(value: ir.Value) -> int | None:
    op = producer(value, "arith.constant")
    return None if op is None else int(ir.IntegerAttr(op.attributes["value"]).value)


def _peel(loop: ir.Operation) -> bool:
    lower, upper, step = (_constant(bound) for bound in list(loop.operands)[:3])
    if lower is None or upper is None or step is None or upper - lower <= step:
        return False
    last = lower + (upper - lower - 1) // step * step
    bounds = [(lower, lower + step), (lower + step, last), (last, upper)]
    parts = [bound for bound in bounds if bound[0] < bound[1]]
    carried = list(loop.operands)[3:]
    for low, high in parts[:-1]:
        with at(loop):
            limits = [arith.ConstantOp.create_index(low).result, arith.ConstantOp.create_index(high).result]
            part = loop.clone(ir.InsertionPoint(loop)).operation
        for index, value in enumerate([*limits, loop.operands[2], *carried]):
            part.operands[index] = value
        carried = list(part.results)
    with at(loop):
        loop.operands[0] = arith.ConstantOp.create_index(parts[-1][0]).result
    for index, value in enumerate(carried):
        loop.operands[3 + index] = value
    return True
