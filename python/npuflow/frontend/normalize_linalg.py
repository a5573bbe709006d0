"""npuflow-normalize-linalg: one spelling for every operator."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.frontend.collapse_contractions import CollapseContractions
from npuflow.frontend.compute_padding import ComputePadding
from npuflow.frontend.drop_unit_dims import DropUnitDims
from npuflow.frontend.expose_heads import ExposeHeads
from npuflow.frontend.fold_views import FoldViews
from npuflow.frontend.fuse_elementwise import FuseElementwise
from npuflow.frontend.generalize_operators import GeneralizeOperators
from npuflow.frontend.mask_padding import MaskPadding
from npuflow.frontend.read_positions import ReadPositions
from npuflow.frontend.sink_constants import SinkConstants
from npuflow.frontend.split_reductions import SplitReductions
from npuflow.frontend.widen_scalars import WidenScalars

# Each is a pass of its own, to be run and tested alone.
STEPS: tuple[Pass, ...] = (
    GeneralizeOperators(),
    ReadPositions(),
    DropUnitDims(),
    FoldViews(),
    MaskPadding(),
    FuseElementwise(),
    CollapseContractions(),
    ExposeHeads(),
    ComputePadding(),
    SinkConstants(),
    SplitReductions(),
    WidenScalars(),
)


@register_pass
@dataclass(frozen=True)
class NormalizeLinalg(Pass):
    """One spelling for every operator: runs the passes that make it, in order.

    They are npuflow-generalize-operators, npuflow-read-positions, npuflow-drop-unit-dims, npuflow-fold-views,
    npuflow-mask-padding, npuflow-fuse-elementwise, npuflow-collapse-contractions, npuflow-expose-heads,
    npuflow-compute-padding, npuflow-sink-constants, npuflow-split-reductions and npuflow-widen-scalars.

        %bt = linalg.transpose ins(%b : tensor<64x32xf32>) outs(...) permutation = [1, 0]
        %r = linalg.matmul ins(%a, %bt : ...) outs(%f : ...)
        %s = linalg.add ins(%r, %c : ...) outs(...)
        %t = linalg.max ins(%s, %zeros : ...) outs(...)

    becomes

        %r = linalg.matmul indexing_maps = [...] ins(%a, %b : ...) outs(%f : ...)
        %t = linalg.generic ... ins(%r, %c : ...) { arith.addf ... arith.maximumf ... }
    """

    name = "npuflow-normalize-linalg"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for step in STEPS:
            step.run(op, context)
