"""npuflow-normalize-linalg: the pipeline of the passes that leave one spelling for what means the same."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.core.registry import NamedPipeline, Stage, register_pipeline, stage
from npuflow.frontend.add_inits import AddInits
from npuflow.frontend.collapse_contractions import CollapseContractions
from npuflow.frontend.compute_padding import ComputePadding
from npuflow.frontend.compute_parts import ComputeParts
from npuflow.frontend.compute_slices import ComputeSlices
from npuflow.frontend.detach_factors import DetachFactors
from npuflow.frontend.drop_marks import DropMarks
from npuflow.frontend.drop_unit_dims import DropUnitDims
from npuflow.frontend.drop_unit_loops import DropUnitLoops
from npuflow.frontend.expose_heads import ExposeHeads
from npuflow.frontend.find_greatest import FindGreatest
from npuflow.frontend.fold_constants import FoldConstants
from npuflow.frontend.fold_extensions import FoldExtensions
from npuflow.frontend.fold_views import FoldViews
from npuflow.frontend.fuse_elementwise import FuseElementwise
from npuflow.frontend.generalize_operators import GeneralizeOperators
from npuflow.frontend.import_program import ImportProgram
from npuflow.frontend.join_slices import JoinSlices
from npuflow.frontend.mark_lookups import MarkLookups
from npuflow.frontend.mask_padding import MaskPadding
from npuflow.frontend.narrow_comparisons import NarrowComparisons
from npuflow.frontend.narrow_sums import NarrowSums
from npuflow.frontend.read_elements import ReadElements
from npuflow.frontend.read_positions import ReadPositions
from npuflow.frontend.read_scalars import ReadScalars
from npuflow.frontend.round_sums import RoundSums
from npuflow.frontend.sink_constants import SinkConstants
from npuflow.frontend.split_reductions import SplitReductions
from npuflow.frontend.update_arguments import UpdateArguments
from npuflow.frontend.widen_scalars import WidenScalars
from npuflow.frontend.write_through import WriteThrough


@register_pipeline
@dataclass(frozen=True)
class NormalizeLinalg(NamedPipeline):
    """One spelling for every operator.

        %bt = linalg.transpose ins(%b : tensor<64x32xf32>) outs(...) permutation = [1, 0]
        %r = linalg.matmul ins(%a, %bt : ...) outs(%f : ...)
        %s = linalg.add ins(%r, %c : ...) outs(...)
        %t = linalg.max ins(%s, %zeros : ...) outs(...)

    becomes

        %r = linalg.matmul indexing_maps = [...] ins(%a, %b : ...) outs(%f : ...)
        %t = linalg.generic ... ins(%r, %c : ...) { arith.addf ... arith.maximumf ... }
    """

    name = "npuflow-normalize-linalg"
    takes_schedule = False

    def stages(self) -> tuple[Stage, ...]:
        return (
            stage("import-program", ImportProgram()),
            stage("generalize-operators", GeneralizeOperators()),
            stage("read-scalars", ReadScalars()),
            stage("fold-constants", FoldConstants()),
            stage("read-elements", ReadElements()),
            stage("compute-parts", ComputeParts()),
            stage("write-through", WriteThrough()),
            stage("join-slices", JoinSlices()),
            stage("read-positions", ReadPositions()),
            stage("drop-unit-dims", DropUnitDims()),
            stage("fold-views", FoldViews()),
            stage("fold-extensions", FoldExtensions()),
            stage("find-greatest", FindGreatest()),
            stage("mask-padding", MaskPadding()),
            stage("add-inits", AddInits()),
            stage("narrow-sums", NarrowSums(bits=32)),
            stage("fuse-elementwise", FuseElementwise()),
            stage("narrow-comparisons", NarrowComparisons()),
            stage("detach-factors", DetachFactors()),
            stage("drop-unit-loops", DropUnitLoops()),
            stage("collapse-contractions", CollapseContractions()),
            stage("round-sums", RoundSums()),
            stage("expose-heads", ExposeHeads()),
            stage("compute-padding", ComputePadding()),
            stage("compute-slices", ComputeSlices()),
            stage("update-arguments", UpdateArguments()),
            stage("sink-constants", SinkConstants()),
            stage("mark-lookups", MarkLookups()),
            stage("split-reductions", SplitReductions()),
            stage("widen-scalars", WidenScalars()),
            stage("drop-marks", DropMarks()),
        )
