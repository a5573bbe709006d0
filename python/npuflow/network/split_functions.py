"""npuflow-split-functions: a function per group, and a function that calls them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import func, ir
from npuflow.core.build import at
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.network.groups import groups_of
from npuflow.network.parts import Part, body_of, plan_parts, strays
from npuflow.ops.contraction import BUNDLE
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class SplitFunctions(Pass):
    """Makes each group of a function (a matmul with its tail, a bundle) a function of its own; the function calls them.

    Every part can then have the whole array, one after the other; values between them are in L3. Fills, constants, zero
    pads and reshapes are in every part that reads them. Groups that do the same are one part that is called repeatedly.
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
    group = "network"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        functions = [f for f in ops_of(op, "func.func") if not f.opview.is_external]
        plans = [(function, _plan(function, device, context)) for function in functions]
        if context.failed:
            return
        taken = {str(f.opview.name.value) for f in ops_of(op, "func.func")}
        for function, parts in plans:
            if len(parts) < 2:
                continue
            names = _names(str(function.opview.name.value), len(parts), taken)
            made = _split(function, parts, names)
            context.count("parts", made)
            context.remark(function, f"{len(parts)} groups in {made} parts")


def _plan(function: ir.Operation, device: Device, context: PassContext) -> list[Part]:
    """The parts of a function; none after reporting why it cannot be split."""
    marked = next((op for op in ops_of(function) if BUNDLE in op.attributes), None)
    if marked is not None:
        what = f"{marked.name} is in bundle {ir.IntegerAttr(marked.attributes[BUNDLE]).value} already"
        context.error(marked, what, "split functions before npuflow-assign-bundles")
        return []
    groups = groups_of(function, device)
    if len(groups) < 2:
        return []
    found = strays(function, groups)
    for op in found:
        context.error(op, f"{op.name} is in no group", "npuflow-check-input says what can be compiled")
    return [] if found else plan_parts(function, groups)


def _names(name: str, count: int, taken: set[str]) -> list[str]:
    """`f_0`, `f_1` and so on, with underscores until none of them is taken."""
    while any(f"{name}_{number}" in taken for number in range(count)):
        name += "_"
    names = [f"{name}_{number}" for number in range(count)]
    taken.update(names)
    return names


def _split(function: ir.Operation, parts: Sequence[Part], names: Sequence[str]) -> int:
    """Replaces a function's body by calls; returns how many parts they call."""
    known: dict[tuple[str, str], str] = {}
    called, place = [], function
    for part in parts:
        made = _outline(place, part, names[len(known)])
        key = (str(made.opview.type), str(made.regions[0].blocks[0]))
        if key in known:
            made.erase()
        else:
            known[key], place = names[len(known)], made
        called.append(known[key])
    before = body_of(function)
    returned = before[-1]
    values: dict[ir.Value, ir.Value] = {}
    for part, name in zip(parts, called):
        with ir.InsertionPoint(returned), part.group.root.location:
            operands = [values.get(value, value) for value in part.inputs]
            call = func.CallOp([value.type for value in part.outputs], name, operands)
        values.update(zip(part.outputs, call.operation.results))
    for index, value in enumerate(returned.operands):
        returned.operands[index] = values.get(value, value)
    for op in reversed(before[:-1]):
        op.erase()
    return len(known)


def _outline(place: ir.Operation, part: Part, name: str) -> ir.Operation:
    """A private function right behind `place` with copies of the part's ops."""
    with at(place, after=True), part.group.root.location as location:
        kind = ir.FunctionType.get([v.type for v in part.inputs], [v.type for v in part.outputs])
        made = func.FuncOp(name, kind, visibility="private")
        block = made.add_entry_block([location] * len(part.inputs))
        values = dict(zip(part.inputs, block.arguments))
        with ir.InsertionPoint(block):
            for op in part.ops:
                values.update(zip(op.results, _copied(op, values)))
            func.ReturnOp([values[value] for value in part.outputs])
    return made.operation


def _copied(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> list[ir.Value]:
    """The results of a copy that reads the part's own values, inside of its regions as well."""
    copy = op.clone()
    for one in (copy, *ops_of(copy)):
        for index, value in enumerate(one.operands):
            if value in values:
                one.operands[index] = values[value]
    return list(copy.results)
