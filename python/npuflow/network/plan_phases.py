"""npuflow-plan-phases: the order of a function's parts, and where what they hand over lies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.network.between import HandedOver
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
    place of others that aren't needed any more. What the function returns lies elsewhere. A part says what of its
    arguments and results is handed over, by all who call it, and so may stay on the chip.

        %r = call @f_0(%x, %w) : ...
        %s = call @f_1(%r) : ...
        %t = call @f_0(%s, %w) : ...

    becomes

        %r = call @f_0(%x, %w) {npu.plan = [{address = 0, bytes = 1024, until = 1}]} : ...
        %s = call @f_1(%r) {npu.plan = [{address = 1024, bytes = 1024, until = 2}]} : ...
        %t = call @f_0(%s, %w) {npu.plan = [{bytes = 1024, until = 2}]} : ...

    and `f_1` has `npu.between = {arguments = array<i64: 0>, results = array<i64: 0>}`.
    """

    name = "npuflow-plan-phases"
    group = "network"
    order: PhaseOrder = option(PhaseOrder.LEAST, "the order of the calls")
    between: bool = option(True, "have parts say what is handed over")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        functions = [f for f in ops_of(op, "func.func") if not f.opview.is_external]
        handed_over = HandedOver()
        for function in functions:
            self._plan(function, handed_over, context)
        for function in functions if self.between else ():
            handed_over.note(function)

    def _plan(self, function: ir.Operation, handed_over: HandedOver, context: PassContext) -> None:
        calls = read_calls(function)
        if calls is None:
            return
        found = ordered(calls, keeps_order=self.order is PhaseOrder.GIVEN)
        placed, ops = addressed(found.calls), calls_of(function)
        called = [ops[number] for number in found.order]
        write_plan(function, called, placed)
        plan = plan_of(placed)
        handed_over.add(called, placed, plan)
        context.count("phases", len(plan.phases))
        alive = f"{plan.alive_bytes} of {plan.apart_bytes} bytes between parts are alive at a time"
        bound = f", in no order less than {found.bound_bytes}" if found.bound_bytes else ""
        context.remark(function, f"{alive}{bound}; they take {plan.workspace_bytes} bytes of DRAM")
