"""npuflow-drop-marks: marks of bundles are left out where what they are on is none."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.bundle import marked_groups, marks_problem
from npuflow.ops.contraction import BUNDLE, ROW_LOOP, RUNNING, STEP_LOOP, STRATEGY
from npuflow.ops.refused import MADE_OF


@register_pass
@dataclass(frozen=True)
class DropMarks(Pass):
    """Leaves out what says that ops are a bundle where they are none, with their strategies; they are found anew.

    Nobody else may read anything but what a bundle's last op makes, and its linalg.generics have a parallel loop in
    common. Marks that an earlier run has left, or somebody wrote, may say so of ops that have become others since.

        %a = linalg.generic ... attrs = {npu.bundle = 0}
        %b = linalg.generic ... ins(%a : ...)
        %c = linalg.generic ... ins(%a, %b : ...) attrs = {npu.bundle = 0}

    becomes

        %a = linalg.generic ...
        %b = linalg.generic ... ins(%a : ...)
        %c = linalg.generic ... ins(%a, %b : ...)
    """

    name = "npuflow-drop-marks"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for ops in marked_groups(op):
            problem = marks_problem(ops)
            if problem is not None:
                context.remark(ops[-1], f"{problem[0]}: marks of {len(ops)} ops are left out")
                for each in ops:
                    _drop(each, (BUNDLE, STRATEGY), context)
        for each in ops_of(op):
            if BUNDLE not in each.attributes and each.name.startswith("linalg."):
                _drop(each, (RUNNING, ROW_LOOP, STEP_LOOP, MADE_OF), context)


def _drop(op: ir.Operation, names: tuple[str, ...], context: PassContext) -> None:
    for name in names:
        if name in op.attributes:
            del op.attributes[name]
            context.count("marks dropped")
