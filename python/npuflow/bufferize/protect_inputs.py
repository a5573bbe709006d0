"""npuflow-protect-inputs: a function's arguments are read only."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.argument_attributes import add_argument_attributes, argument_attributes
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
            if function.opview.is_external:
                continue
            said = enumerate(zip(function.opview.type.inputs, argument_attributes(function)))
            open_ = [n for n, (kind, own) in said if isinstance(kind, ir.RankedTensorType) and WRITABLE not in own]
            add_argument_attributes(function, {number: {WRITABLE: ir.BoolAttr.get(False)} for number in open_})
