"""npuflow-split-functions: a function per group, and a function that calls them one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.network.groups import FusionGroup, groups_of
from npuflow.network.outline import free_names, split_function
from npuflow.network.parts import PartPlan, plan_parts, strays
from npuflow.ops.bundle import marked_groups, marks_problem
from npuflow.ops.contraction import bundle_number
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.strategy import strategy_of
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class SplitFunctions(Pass):
    """Makes each group of a function (a matmul with its tail, a bundle) a function of its own; the function calls them.

    Every part can then have the whole array, one after the other; values between them are in L3. Fills, constants of
    one value, zero pads and reshapes are in every part that reads them; other constants, as weights, are handed over.
    Groups that do the same, on whatever weights, are one part that is called repeatedly.
    Runs on normalised input before strategies are assigned: those that are there are the user's, and are kept. A
    function of one group, or of none, stays as it is.

        func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
          %r = linalg.matmul ins(%x, %w : ...) outs(%zeros : ...)
          %s = linalg.generic ... iterator_types = ["parallel", "reduction"] ins(%r : ...)
          %t = linalg.generic ... ins(%r, %s : ...)
          return %t
        }

    becomes

        func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
          %r = call @f_0(%x, %w)
          %t = call @f_1(%r)
          return %t
        }
        func.func private @f_0(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> { linalg.matmul ... }
        func.func private @f_1(%r: tensor<64x64xf32>) -> tensor<64x64xf32> { ... }
    """

    name = "npuflow-split-functions"
    group = "strategy"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    fuse: bool = option(True, "let groups grow around sums of products")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        functions = [f for f in ops_of(op, "func.func") if not f.opview.is_external]
        plans = [
            (function, _plan(function, GrowthOn(device, self.fuse, self.depth_between), context))
            for function in functions
        ]
        if context.failed:
            return
        taken = {str(f.opview.name.value) for f in ops_of(op, "func.func")}
        for function, parts in plans:
            if len(parts) < 2:
                continue
            names = free_names(str(function.opview.name.value), len(parts), taken)
            made = split_function(function, parts, names)
            context.count("parts", made)
            context.remark(function, f"{len(parts)} groups in {made} parts")


def _plan(function: ir.Operation, growth: GrowthOn, context: PassContext) -> list[PartPlan]:
    """The parts of a function; none after reporting why it cannot be split."""
    marked = marked_groups(function)
    wrong = [(ops[-1], problem) for ops in marked if (problem := marks_problem(ops)) is not None]
    for op, problem in wrong:
        context.error(op, *problem)
    assigned = next((op for ops in marked for op in ops if not wrong and strategy_of(op) is not None), None)
    if assigned is not None:
        what = f"{assigned.name} is in bundle {bundle_number(assigned)} already"
        context.error(assigned, what, "split functions before npuflow-assign-strategy")
    if context.failed:
        return []
    groups = groups_of(function, growth)
    if len(groups) < 2:
        return []
    found = strays(function, groups)
    for op in found:
        context.error(op, f"{op.name} is in no group", "npuflow-check-input says what can be compiled")
    return [] if found else plan_parts(function, groups)


def groups_on(function: ir.Operation, device: Device) -> list[FusionGroup]:
    """The groups of a normalised function as `npuflow-assign-strategy` finds them for a device."""
    return groups_of(function, GrowthOn(device))
