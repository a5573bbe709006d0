"""npuflow-separate-results: every result has a buffer of its own."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import bufferization, ir
from npuflow.core.build import at
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class SeparateResults(Pass):
    """Gives each use of a tensor.empty its own buffer, so that one op's result never lies where another's input is.

    In program order such sharing is right; engines that run side by side would have to wait for each other.

        %e = tensor.empty() : tensor<64x64xf32>
        %a = scf.for ... iter_args(%x = %e) ...
        %b = scf.for ... iter_args(%x = %e) ...      // reads %a

    becomes

        %e0 = bufferization.alloc_tensor() : tensor<64x64xf32>
        %a = scf.for ... iter_args(%x = %e0) ...
        %e1 = bufferization.alloc_tensor() : tensor<64x64xf32>
        %b = scf.for ... iter_args(%x = %e1) ...
    """

    name = "npuflow-separate-results"
    group = "bufferize"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for empty in ops_of(op, "tensor.empty"):
            for use in list(empty.results[0].uses):
                user = use.owner.operation
                with at(user):
                    buffer = bufferization.AllocTensorOp(empty.results[0].type, list(empty.operands)).result
                user.operands[use.operand_number] = buffer
                context.count("results separated")
            empty.erase()
