"""npuflow-compute-padding: a padded tensor that is needed as such is computed by an op of its own."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.reshape import in_memory
from npuflow.ops.bundle_ops import is_input, pads_with_zeros
from npuflow.ops.contraction import static_matmuls, tail_of


@register_pass
@dataclass(frozen=True)
class ComputePadding(Pass):
    """Puts a linalg.generic between padding by zeros and whoever needs the padded tensor in memory.

    Transfers pad what elementwise ops and those of a bundle read. Results, what matmuls and their tails read, reshapes
    and what is written over are there as a whole: an op moves them, and what that one reads is padded.

        %p = tensor.pad %x low[1] high[2] { tensor.yield %zero } : tensor<5xf32> to tensor<8xf32>
        return %p

    becomes

        %p = tensor.pad %x low[1] high[2] { tensor.yield %zero } : tensor<5xf32> to tensor<8xf32>
        %q = linalg.generic {indexing_maps = [(d0, d1) -> (d1), (d0, d1) -> (d0, d1)]} ins(%p : tensor<8xf32>)
          outs(... : tensor<1x8xf32>) { linalg.yield %in }
        %r = tensor.collapse_shape %q [[0, 1]] : tensor<1x8xf32> into tensor<8xf32>
        return %r

    whose loop of one in front keeps MLIR from taking it for a copy that nobody needs.
    """

    name = "npuflow-compute-padding"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        pads = ops_of(op, "tensor.pad")
        found = static_matmuls(op) if pads else []
        matmuls = {op for contraction in found for op in (contraction.op, tail_of(contraction)) if op is not None}
        for pad in pads:
            padded = pad.results[0]
            uses = [(use.owner.operation, use.operand_number) for use in padded.uses]
            needing = [(user, i) for user, i in uses if user in matmuls or not is_input(user, i)]
            if not needing or not pads_with_zeros(pad):
                continue
            computed = in_memory(padded)
            for user, index in needing:
                user.operands[index] = computed
            context.count("padded tensors computed")
