"""npuflow-mark-lookups: ops that do something only at the place that data name say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownTensors
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer
from npuflow.ops.lookups import LOOKUP, chosen_value, conjuncts, input_behind_casts, match_lookups


@register_pass
@dataclass(frozen=True)
class MarkLookups(Pass):
    """Marks ops that compare a loop's positions, which are consecutive numbers, with what data ask for.

    A core then goes to that place at once, rather than along the loop.

        %p = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
        %r = linalg.generic ... ins(%table, %asked, %p) outs(%o) {
          %hit = arith.cmpi eq, %asked, %position
          %new = arith.select %hit, %element, %out ... }

    becomes

        %r = linalg.generic ... ins(%table, %asked, %p) outs(%o) attrs = {npu.lookup} { ... }

    Works on whatever is written so: elements picked by numbers, scatters, one-hot sums by hand that keep their result.
    """

    name = "npuflow-mark-lookups"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        known = KnownTensors()
        for generic in ops_of(op, "linalg.generic"):
            _put_positions_right(known, generic)
            found = match_lookups(generic)
            if LOOKUP in generic.attributes:
                del generic.attributes[LOOKUP]
            if found and all(_is_consecutive(known, generic.operands[one.positions]) for one in found):
                generic.attributes[LOOKUP] = ir.UnitAttr.get(op.context)
                context.count("lookups marked")


def _put_positions_right(known: KnownTensors, op: ir.Operation) -> None:
    """Has comparisons with positions end with them, which is how a lookup is told from what it asks for."""
    chosen = chosen_value(op)
    for hit in () if chosen is None else conjuncts(chosen.operands[0]):
        compared = producer(hit, "arith.cmpi")
        left = None if compared is None else input_behind_casts(op, compared.operands[0])
        if compared is not None and left is not None and _is_consecutive(known, op.operands[left]):
            compared.operands[0], compared.operands[1] = compared.operands[1], compared.operands[0]


def _is_consecutive(known: KnownTensors, value: ir.Value) -> bool:
    numbers = known.of(value)
    return numbers is not None and bool(np.array_equal(numbers, numbers.flat[0] + np.arange(numbers.size)))
