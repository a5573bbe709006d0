"""npuflow-protect-inputs: a function's arguments are read only."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import func, ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.insertions import WRITABLE


@register_pass
@dataclass(frozen=True)
class ProtectInputs(Pass):
    """Marks tensor arguments as not writable, so that bufferization gives results buffers of their own.

    Arguments that say themselves whether they are writable are left alone.

        func.func @f(%a: tensor<64x64xf32>)

    becomes

        func.func @f(%a: tensor<64x64xf32> {bufferization.writable = false})
    """

    name = "npuflow-protect-inputs"
    group = "bufferize"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for function in ops_of(op, "func.func"):
            view = function.opview
            if view.is_external:
                continue
            view.arg_attrs = [_protected(kind, dict_attr) for kind, dict_attr in zip(view.type.inputs, _attrs(view))]


def _attrs(function: func.FuncOp) -> list[ir.DictAttr]:
    if "arg_attrs" in function.attributes:
        return [ir.DictAttr(a) for a in ir.ArrayAttr(function.attributes["arg_attrs"])]
    return [ir.DictAttr.get({}) for _ in function.type.inputs]


def _protected(kind: ir.Type, attributes: ir.DictAttr) -> ir.DictAttr:
    if not isinstance(kind, ir.RankedTensorType) or WRITABLE in attributes:
        return attributes
    named = {attribute.name: attribute.attr for attribute in attributes}
    return ir.DictAttr.get({**named, WRITABLE: ir.BoolAttr.get(False)})
