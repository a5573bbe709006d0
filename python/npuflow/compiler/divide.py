"""Parts that a schedule refused although nobody chose to make them one: their ops run one after the other instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.compiler.cut import PreparedFunction
from npuflow.compiler.sources import copy_of
from npuflow.frontend.split_body import is_fixed, parts_of, split_body
from npuflow.network.groups import FusionGroup, groups_of
from npuflow.network.parts import plan_parts
from npuflow.ops.bundle import free_numbers, make_bundle, mark_bundle
from npuflow.ops.contraction import BUNDLE, ROW_LOOP, RUNNING, STEP_LOOP, STRATEGY, is_parallel
from npuflow.ops.grown import Growth

# What is said of ops by somebody who means them as they are, or by who knows that they only go together.
_SAID = (STRATEGY, ROW_LOOP, RUNNING, STEP_LOOP)


def divided(prepared: PreparedFunction, parts: Collection[int], growth: Growth) -> PreparedFunction | None:
    """A function of which these parts, numbered as it comes apart, are divided; None where none of them can be."""
    own = replace(prepared, module=copy_of(prepared.module))
    groups = groups_of(own.function, growth)
    plans = plan_parts(own.function, groups)
    with own.module.context:
        # All of them, each divided once.
        done = [_divide(own.function, plans[number].group) for number in sorted(parts)]
    return own if any(done) else None


def _divide(function: ir.Operation, group: FusionGroup) -> bool:
    """Has the ops of a group be bundles of their own, or an elementwise op alone be two.

    What was marked as a bundle of several ops was meant to be one: who does that for speed says what it is made of.
    """
    if any(name in op.attributes for op in group.ops for name in _SAID):
        return False
    if len(group.ops) > 1:
        if BUNDLE in group.root.attributes:
            return False
        numbers = free_numbers(function)
        for op in group.ops:
            # What has no parallel loop grows to nothing; a matmul stays what it is.
            if op.name == "linalg.generic" and not (group.is_matmul and op == group.ops[0]) and make_bundle([op]).space:
                mark_bundle([op], next(numbers))
        return True
    (op,) = group.ops
    parts = parts_of(op, _Half.of(op)) if op.name == "linalg.generic" and is_parallel(op) else []
    if len(parts) > 1:
        split_body(op, parts)
    return len(parts) > 1


@dataclass(frozen=True)
class _Half:
    """Half as many ops as a body has, on no more tensors."""

    ops: int
    tensors: int

    @staticmethod
    def of(op: ir.Operation) -> _Half:
        body = [inner.operation for inner in op.regions[0].blocks[0].operations][:-1]
        return _Half(max(1, sum(not is_fixed(inner) for inner in body) // 2), len(op.operands))

    def has_for(self, inputs: Sequence[ir.Value], results: int) -> bool:
        return len(inputs) + results <= self.tensors

    def fitting(self, ops: Sequence[ir.Operation]) -> int:
        return min(self.ops, len(ops))
