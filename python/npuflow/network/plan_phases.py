"""npuflow-plan-phases: the order of a function's parts, and where what they hand over lies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.network.calls import calls_of, read_calls, write_plan
from npuflow.network.plan import addressed, ordered, plan_of


class PhaseOrder(Enum):
    """In which order parts run."""

    LEAST = "least-alive"
    GIVEN = "given"


@register_pass
@dataclass(frozen=True)
class PlanPhases(Pass):
    """Orders the calls of a function that does nothing else, and gives what one hands to others a place.

    Of the order given, the one that goes depth first and the one that keeps least alive, it takes the one that keeps
    least; of these the one with fewer changes of parts. Each call says of its results how many bytes they are, until
    which phase (counted from 0) they are needed, and at which address of the function's workspace they lie: in the
    place of others that aren't needed any more. What the function returns lies elsewhere. Other functions stay.

        %r = call @f_0(%x, %w) : ...
        %s = call @f_1(%r) : ...
        %t = call @f_0(%s, %w) : ...

    becomes

        %r = call @f_0(%x, %w) {npu.plan = [{address = 0, bytes = 1024, until = 1}]} : ...
        %s = call @f_1(%r) {npu.plan = [{address = 1024, bytes = 1024, until = 2}]} : ...
        %t = call @f_0(%s, %w) {npu.plan = [{bytes = 1024, until = 2}]} : ...
    """

    name = "npuflow-plan-phases"
    group = "network"
    order: PhaseOrder = option(PhaseOrder.LEAST, "the order of the calls")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for function in [f for f in ops_of(op, "func.func") if not f.opview.is_external]:
            self._plan(function, context)

    def _plan(self, function: ir.Operation, context: PassContext) -> None:
        calls = read_calls(function)
        if calls is None:
            return
        found = ordered(calls, keeps_order=self.order is PhaseOrder.GIVEN)
        placed, ops = addressed(found.calls), calls_of(function)
        write_plan(function, [ops[number] for number in found.order], placed)
        plan = plan_of(placed)
        context.count("phases", len(plan.phases))
        alive = f"{plan.alive_bytes} of {plan.apart_bytes} bytes between parts are alive at a time"
        bound = f", in no order less than {found.bound_bytes}" if found.bound_bytes else ""
        context.remark(function, f"{alive}{bound}; they take {plan.workspace_bytes} bytes of DRAM")
