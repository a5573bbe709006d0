"""npuflow-compute-slices: a part of a tensor that is needed as a tensor of its own is made one by an op."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import reassociation_of, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.reshape import in_memory

_SLICE, _COLLAPSE, _EXPAND = "tensor.extract_slice", "tensor.collapse_shape", "tensor.expand_shape"


@register_pass
@dataclass(frozen=True)
class ComputeSlices(Pass):
    """Puts a linalg.generic between a slice and whoever needs its elements one behind the other in memory.

    Transfers read a slice where it lies, with strides. Results of a function, and a dimension that is collapsed with
    one in front of it of which the slice is a part, have none.

        %s = tensor.extract_slice %x[0, 4] [8, 4] [1, 1] : tensor<8x16xf32> to tensor<8x4xf32>
        return %s

    becomes

        %s = tensor.extract_slice %x[0, 4] [8, 4] [1, 1] : tensor<8x16xf32> to tensor<8x4xf32>
        %q = linalg.generic {indexing_maps = [(d0, d1, d2) -> (d1, d2), (d0, d1, d2) -> (d0, d1, d2)]} ins(%s)
          outs(... : tensor<1x8x4xf32>) { linalg.yield %in }
        %r = tensor.collapse_shape %q [[0, 1], [2]] : tensor<1x8x4xf32> into tensor<8x4xf32>
        return %r
    """

    name = "npuflow-compute-slices"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for cut in ops_of(op, _SLICE):
            if _is_needed(cut.results[0], _cut_dims(cut)):
                uses = [(use.owner.operation, use.operand_number) for use in cut.results[0].uses]
                computed = in_memory(cut.results[0])
                for user, index in uses:
                    user.operands[index] = computed
                context.count("slices computed")


def _cut_dims(cut: ir.Operation) -> frozenset[int]:
    """The dimensions of a slice that are a part of the tensor's, or of one that is left out in front of them."""
    sizes = [int(v) for v in ir.DenseI64ArrayAttr(cut.opview.static_sizes)]
    whole = shape_of(cut.operands[0])
    kept = shape_of(cut.results[0])
    found, d = set(), 0
    for size, has in zip(sizes, whole):
        is_kept = d < len(kept) and kept[d] == size
        if size != has:
            found.add(d if is_kept else min(d, len(kept) - 1))
        d += is_kept
    return frozenset(found)


def _is_needed(value: ir.Value, cut: frozenset[int]) -> bool:
    """Whether anybody needs a value's elements without gaps, which `cut` dimensions have behind them."""
    for use in value.uses:
        user = use.owner.operation
        if user.name == "func.return":
            return True
        groups = reassociation_of(user) if user.name in (_COLLAPSE, _EXPAND) else []
        if user.name == _COLLAPSE:
            shape = shape_of(value)
            wide = [[d for d in group if shape[d] != 1] for group in groups]
            if any(d in cut for group in wide for d in group[1:]):
                return True
            after = frozenset(i for i, group in enumerate(groups) if any(d in cut for d in group))
            if _is_needed(user.results[0], after):
                return True
        if user.name == _EXPAND:
            after = frozenset(groups[d][0] for d in cut)
            if _is_needed(user.results[0], after):
                return True
    return False
