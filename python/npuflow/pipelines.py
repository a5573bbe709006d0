"""Named pipelines: lists of passes, nothing else. Importing this registers every pass of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from npuflow.bufferize.check_memory import CheckMemory
from npuflow.bufferize.move_in_l1 import MoveInL1
from npuflow.bufferize.protect_inputs import ProtectInputs
from npuflow.bufferize.separate_results import SeparateResults
from npuflow.bufferize.unify_copies import UnifyCopies
from npuflow.core import apply_schedule as _apply_schedule  # noqa: F401  (registers npuflow-apply-schedule)
from npuflow.core.options import option
from npuflow.core.registry import NamedPipeline, Stage, register_pipeline, stage
from npuflow.execute import verify_results as _verify_results  # noqa: F401  (registers npuflow-verify)
from npuflow.frontend import fold_batch_norm as _fold_batch_norm  # noqa: F401  (registers npuflow-fold-batch-norm)
from npuflow.frontend import fold_scales as _fold_scales  # noqa: F401  (registers npuflow-fold-scales)
from npuflow.frontend import join_scales as _join_scales  # noqa: F401  (registers npuflow-join-scales)
from npuflow.frontend import narrow_products as _narrow_products  # noqa: F401  (registers npuflow-narrow-products)
from npuflow.frontend import narrow_scales as _narrow_scales  # noqa: F401  (registers npuflow-narrow-scales)
from npuflow.frontend import quantize_products as _quantize_products  # noqa: F401  (registers npuflow-quantize-products)
from npuflow.frontend import specialize_shapes as _specialize_shapes  # noqa: F401  (registers npuflow-specialize-shapes)
from npuflow.frontend import sum_integers as _sum_integers  # noqa: F401  (registers npuflow-sum-integers)
from npuflow.frontend.check_input import CheckInput
from npuflow.frontend.collapse_contractions import CollapseContractions
from npuflow.frontend.normalize_linalg import NormalizeLinalg
from npuflow.fusion.bundle_matmuls import BundleMatmuls
from npuflow.fusion.fuse_matmuls import FuseMatmuls
from npuflow.fusion.fuse_readers import FuseReaders
from npuflow.fusion.fuse_results import FuseResults
from npuflow.fusion.fuse_slices import FuseSlices
from npuflow.fusion.fuse_windows import FuseWindows
from npuflow.fusion.join_in_place import JoinInPlace
from npuflow.fusion.skip_masked import SkipMasked
from npuflow.fusion.window_tiles import Halos
from npuflow.network.plan_phases import PlanPhases
from npuflow.promotion.hoist_accumulator import HoistAccumulator
from npuflow.promotion.pack_blocks import PackBlocks
from npuflow.promotion.pack_operands import PackOperands
from npuflow.promotion.peel_k import PeelK
from npuflow.promotion.promote_accumulator import PromoteAccumulator
from npuflow.promotion.promote_bundles import PromoteBundles
from npuflow.promotion.promote_operands import PromoteOperands
from npuflow.promotion.sink_fill import SinkFill
from npuflow.schedule.check_schedule import CheckSchedule
from npuflow.schedule.project_engines import ProjectEngines
from npuflow.simulate.check_handover import CheckHandover
from npuflow.strategy.assign_strategy import AssignStrategy, KInL2
from npuflow.strategy.fold_padding import FoldPadding
from npuflow.strategy.reshape_lines import ReshapeLines
from npuflow.strategy.split_functions import SplitFunctions
from npuflow.strategy.split_wide_ops import SplitWideOps
from npuflow.strategy.spread_phases import SpreadPhases
from npuflow.tiling.pad_blocks import PadBlocks
from npuflow.tiling.tile_blocks import TileBlocks
from npuflow.tiling.tile_bundles import TileBundles
from npuflow.tiling.tile_cores import TileCores
from npuflow.tiling.tile_k import KLevel, TileK

CLEAN = "canonicalize,cse"
BUFFERIZE = (
    "one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map}"
)


@dataclass(frozen=True)
class MatmulPipeline(NamedPipeline):
    """What the three matmul pipelines share: their options, how they begin and how they end."""

    kept_stages: ClassVar[tuple[str, ...]] = ("normalize-linalg", "check-input", "assign-strategy")
    default_resume: ClassVar[str] = "bufferize"
    k_in_l2: ClassVar[KInL2] = KInL2.TILE

    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    grid: tuple[int, int] | None = option(
        None, "rows,columns of cores (along m, along n); default: what the shape can use"
    )
    tile_l2: tuple[int, int, int] | None = option(None, "m,n,k of a block in L2; default: fitted to the device")
    tile_l1: tuple[int, int, int] | None = option(None, "m,n,k of a core's tile in L1; default: fitted to the device")
    pack: tuple[int, int, int] | None = option(None, "m,n,k of the matmul instruction; default: the type's first")
    depth_l2: int | None = option(None, "slots of each operand's buffer in L2; default: 2 where they fit")
    depth_l1: int | None = option(None, "slots of each operand's buffer in L1; default: 2 where they fit")
    depth_lhs: tuple[int, int] | None = option(None, "slots of the left operand's buffers in L2,L1")
    depth_rhs: tuple[int, int] | None = option(None, "slots of the right operand's buffers in L2,L1")
    depth_result: int | None = option(None, "slots of the result's buffers; default: 1")
    depth_tail: int | None = option(
        None, "slots of what the tail reads beside the sum; default: 2 where it changes and they fit"
    )
    depth_between: int | None = option(
        None, "slots of what matrix and vector engines hand to each other; default: 2 where they fit"
    )
    fuse: bool = option(
        True, "run ops around sums of products, matmuls in a row, or windows, on one tile where that is faster"
    )
    bundle_matmuls: bool = option(False, "map matmuls as other ops are where that is faster, as npuflow run does")
    window_tiles: tuple[int, ...] = option(
        (), "rows, columns of tiles in which windows in a row are fused; default: what is fastest"
    )
    halos: Halos = option(
        Halos.CHEAPER, "what windows in a row need twice: cached from step to step, recomputed, or what is faster"
    )
    window_rows: int | None = option(None, "rows of a step where halos are cached; default: what is fastest")
    fuse_groups: tuple[str, ...] = option(
        (), "groups of windows in a row to be one, FUNCTION_NUMBER as remarks name them"
    )
    masked_parts: int | None = option(
        None, "parts that rows come in, to leave out what is masked; default: what is fastest, 1: none"
    )
    reshape: bool = option(True, "take pixels in one line for an image, where instructions take patches")
    padding: bool = option(True, "let matrix engines make up the zeros around windows, where they can")

    def begin(self) -> tuple[Stage, ...]:
        tiles = (self.device, self.grid, self.tile_l2, self.tile_l1, self.pack, self.k_in_l2)
        depths = (self.depth_l2, self.depth_l1, self.depth_lhs, self.depth_rhs, self.depth_result, self.depth_tail)
        between = self.depth_between
        assign = AssignStrategy(*tiles, *depths, between, self.fuse)
        wide = SplitWideOps(self.device, self.grid)
        reshaping = (ReshapeLines(self.device),) if self.reshape else ()
        window = (self.window_tiles, self.halos, self.window_rows)
        masked = SkipMasked(self.device, self.masked_parts, between)
        results = FuseResults(self.device, between)
        is_open = self._leaves_tiles and all(each is None for each in (self.grid, *depths))
        bundles_too = self.bundle_matmuls and is_open
        matmuls = FuseMatmuls(self.device, between, bundles_too)
        windows = FuseWindows(self.device, *window, self.fuse_groups, between, bundles_too)
        slices = FuseSlices(self.device, between)
        fuses = self.fuse and self._leaves_tiles
        fusing = (matmuls, slices, results, windows, masked) if fuses else ()
        readers = (FuseReaders(self.device),) if fuses else ()
        bundling = (BundleMatmuls(self.device, between),) if bundles_too else ()
        padding = (FoldPadding(self.device),) if self.padding else ()
        joining = (JoinInPlace(self.device, between, bundles_too),) if fuses else ()
        forms = (CollapseContractions(chains=True), *readers, *joining, *bundling, *padding)
        return (
            stage("normalize-linalg", NormalizeLinalg.name),
            stage("check-input", CheckInput()),
            stage("assign-strategy", wide, *reshaping, *fusing, *forms, assign),
            stage("tile-blocks", TileBlocks(), CLEAN),
            stage("pad-blocks", PadBlocks(), CLEAN),
        )

    @property
    def says_what_is_fused(self) -> bool:
        """Whether somebody has said that: groups by name, or the tiles or halos of windows."""
        of_windows = (self.window_tiles, self.window_rows is not None, self.halos is not Halos.CHEAPER)
        return any((self.fuse_groups, *of_windows))

    @property
    def _leaves_tiles(self) -> bool:
        """Whether matmuls may become something else: who says how they are tiled means them."""
        said = (self.tile_l2, self.tile_l1, self.pack, self.depth_lhs, self.depth_rhs, self.depth_tail)
        return all(each is None for each in said)

    def end(self) -> tuple[Stage, ...]:
        return (
            stage("tile-bundles", TileBundles(), CLEAN),
            stage("promote-bundles", PromoteBundles(), CLEAN),
            stage("bufferize", ProtectInputs(), SeparateResults(), BUFFERIZE, CLEAN, UnifyCopies(), MoveInL1(), CLEAN),
            stage("check-memory", CheckMemory(self.device)),
        )


@register_pipeline
@dataclass(frozen=True)
class StreamK(MatmulPipeline):
    """K streamed through L2 and L1: operands padded into L2 and packed into L1 step by step."""

    name = "npuflow-stream-k"

    def stages(self) -> tuple[Stage, ...]:
        return (
            *self.begin(),
            stage("tile-cores", TileCores(), CLEAN),
            stage("promote-accumulator", PromoteAccumulator()),
            stage("tile-k-l2", TileK(KLevel.L2)),
            stage("promote-operands", PromoteOperands()),
            stage("tile-k-l1", TileK(KLevel.L1)),
            stage("pack-operands", PackOperands()),
            stage("hoist-accumulator", HoistAccumulator(), CLEAN),
            *self.end(),
        )


@register_pipeline
@dataclass(frozen=True)
class PadPack(MatmulPipeline):
    """Whole-K operands padded into L2 once per block by tiled copies, K streamed from L2 to L1 only."""

    name = "npuflow-pad-pack"
    k_in_l2 = KInL2.WHOLE

    def stages(self) -> tuple[Stage, ...]:
        return (
            *self.begin(),
            stage("promote-operands", PromoteOperands(tile_copies=True)),
            stage("tile-cores", TileCores(), CLEAN),
            stage("promote-accumulator", PromoteAccumulator()),
            stage("tile-k-l1", TileK(KLevel.L1)),
            stage("pack-operands", PackOperands()),
            stage("hoist-accumulator", HoistAccumulator(), CLEAN),
            *self.end(),
        )


@register_pipeline
@dataclass(frozen=True)
class PackPeel(MatmulPipeline):
    """Packed in L2 and in L1, K streamed, its first and last step peeled: fill in the first, write-back in the last."""

    name = "npuflow-pack-peel"

    def stages(self) -> tuple[Stage, ...]:
        return (
            *self.begin(),
            stage("tile-cores", TileCores(), CLEAN),
            stage("promote-accumulator", PromoteAccumulator()),
            stage("tile-k-l2", TileK(KLevel.L2)),
            stage("promote-operands", PromoteOperands()),
            stage("tile-k-l1", TileK(KLevel.L1)),
            stage("pack-blocks", PackBlocks()),
            stage("pack-operands", PackOperands()),
            stage("hoist-accumulator", HoistAccumulator(), CLEAN),
            stage("peel-k", PeelK(), CLEAN),
            stage("sink-fill", SinkFill()),
            *self.end(),
        )


@register_pipeline
@dataclass(frozen=True)
class PlanPipeline(NamedPipeline):
    """Functions to their parts: groups as functions of their own, called in an order, with a place for each value."""

    name = "npuflow-plan"
    takes_schedule = False

    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def stages(self) -> tuple[Stage, ...]:
        return (
            stage("normalize-linalg", NormalizeLinalg.name),
            stage("check-input", CheckInput()),
            stage("split-functions", SplitFunctions(self.device)),
            stage("plan-phases", PlanPhases()),
            stage("spread-phases", SpreadPhases(self.device)),
        )


@register_pipeline
@dataclass(frozen=True)
class SchedulePipeline(NamedPipeline):
    """Bufferized functions to checked schedules: what each engine of the device does, in order."""

    name = "npuflow-schedule"

    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def stages(self) -> tuple[Stage, ...]:
        return (
            stage("project-engines", ProjectEngines(self.device)),
            stage("check-schedule", CheckSchedule(self.device)),
            stage("check-handover", CheckHandover(self.device)),
        )
