"""A function's parts as functions of their own, called one after the other. Edits IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import func, ir
from npuflow.core.build import at
from npuflow.core.copies import cloned
from npuflow.network.groups import FusionGroup
from npuflow.network.parts import PartPlan, body_of, is_table
from npuflow.ops.bundle import mark_bundle
from npuflow.ops.contraction import BUNDLE
from npuflow.ops.estimated import forget_estimated
from npuflow.ops.insertions import let_write, update_of
from npuflow.ops.refused import MADE_OF, made_of, mark_made_of
from npuflow.ops.reshapes import reshapes_of


def free_names(name: str, count: int, taken: set[str]) -> list[str]:
    """`f_0`, `f_1` and so on, with underscores until none of them is taken."""
    while any(f"{name}_{number}" in taken for number in range(count)):
        name += "_"
    names = [f"{name}_{number}" for number in range(count)]
    taken.update(names)
    return names


def split_function(function: ir.Operation, parts: Sequence[PartPlan], names: Sequence[str]) -> int:
    """Replaces a function's body by calls, and the tables that they read; returns how many parts they call."""
    known: dict[str, str] = {}
    called, place = [], function
    for part in parts:
        made = _outline(place, part, names[len(known)])
        key = made.get_asm(use_local_scope=True, assume_verified=True).replace(f"@{names[len(known)]}(", "@(", 1)
        if key in known:
            made.erase()
        else:
            known[key], place = names[len(known)], made
        called.append(known[key])
    forget_estimated([function])
    before = body_of(function)
    returned = before[-1]
    values: dict[ir.Value, ir.Value] = {}
    for part, name in zip(parts, called):
        with ir.InsertionPoint(returned), part.group.root.location:
            operands = [values.get(value, value) for value in part.inputs]
            call = func.CallOp([value.type for value in part.outputs], name, operands)
        mark_made_of([call.operation], made_of(part.group.root))
        values.update(zip(part.outputs, call.operation.results))
    for index, value in enumerate(returned.operands):
        returned.operands[index] = values.get(value, value)
    for op in reversed(before[:-1]):
        if not is_table(op) or not list(op.results[0].uses):
            op.erase()
    return len(known)


def _outline(place: ir.Operation, part: PartPlan, name: str) -> ir.Operation:
    """A private function right behind `place` with copies of the part's ops."""
    with at(place, after=True), part.group.root.location as location:
        kind = ir.FunctionType.get([v.type for v in part.inputs], [v.type for v in part.outputs])
        made = func.FuncOp(name, kind, visibility="private")
        block = made.add_entry_block([location] * len(part.inputs))
        values = dict(zip(part.read, block.arguments))
        with ir.InsertionPoint(block):
            for op in part.ops:
                if part.target is not None and op == part.group.insertion:
                    values |= _target_values(part.target, op, block.arguments[-1])
                values.update(zip(op.results, cloned(op, values)))
                _forget_place(values[op.results[0]].owner.operation)
            _keep_together(part.group, values)
            func.ReturnOp([values[value] for value in part.outputs])
        updates = (update_of(values[value]) for value in part.outputs)
        let_write(made.operation, {update.argument for update in updates if update is not None})
    return made.operation


def _target_values(target: ir.Value, insertion: ir.Operation, argument: ir.Value) -> dict[ir.Value, ir.Value]:
    """What a part writes into, reshaped as it needs it: an argument of its own, beside the one that it reads."""
    values = {target: argument}
    for reshape in reversed(reshapes_of(insertion.operands[1])):
        values.update(zip(reshape.results, cloned(reshape, values)))
    return values


def _keep_together(group: FusionGroup, values: Mapping[ir.Value, ir.Value]) -> None:
    """Marks a bundle of several ops: without a head that stays outside, one might be taken for a matmul."""
    if not group.is_matmul and len(group.ops) > 1:
        mark_bundle([values[op.results[0]].owner.operation for op in group.ops], 0)


def _forget_place(op: ir.Operation) -> None:
    """Numbers the bundle that an op is in as the first of its function; calls say which groups it was made of.

    So parts that do the same look the same.
    """
    if BUNDLE in op.attributes:
        op.attributes[BUNDLE] = ir.IntegerAttr.get(op.attributes[BUNDLE].type, 0)
    if MADE_OF in op.attributes:
        del op.attributes[MADE_OF]
