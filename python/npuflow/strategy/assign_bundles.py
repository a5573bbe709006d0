"""npuflow-assign-bundles: what is no matmul is bundled, and every bundle says how it will be mapped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device, record_device
from npuflow.ops.bundle import Bundle, mark_bundle
from npuflow.ops.contraction import STRATEGY, static_matmuls
from npuflow.ops.grown import find_bundles
from npuflow.ops.kept_lines import rows_problem
from npuflow.strategy.bundle_times import GrowthOn, best_of_bundle
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.feasibility import first_causes, obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.lacked import lacked_by
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.misfits import misfits
from npuflow.strategy.room import l1_buffers, total_l1_bytes
from npuflow.strategy.strategy import BUNDLE_FIELDS, Strategy, said_of, strategy_of
from npuflow.strategy.work import note_bundles
from npuflow.strategy.work_cycles import conversions
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class AssignBundles(Pass):
    """Bundles the ops that are no matmuls, and completes each bundle's strategy for the device.

    A bundle is as many ops as can share a tile in L1: a softmax is one, read once and written once, if a row fits.
    Loops are numbered as the bundle's last op has them, those of its space first. What a `#npu.strategy` on that op
    says comes first, then the grid of the function's matmuls, then the choice for the device. The function's `npu.work`
    says what its bundles are, for reports.

        %s = linalg.generic ... iterator_types = ["parallel", "reduction"] ins(%x : tensor<256x512xf32>) ...
        %r = linalg.generic ... iterator_types = ["parallel", "parallel"] ins(%x, %s : ...) ...

    becomes

        %s = linalg.generic ... attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [4, 4], spread = [0, 0],
          tile_l1 = [4], ...}>}
        %r = linalg.generic ... attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{...}>}
    """

    name = "npuflow-assign-bundles"
    group = "strategy"
    assigns_strategies = True
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    grid: tuple[int, int] | None = option(None, "rows,columns of cores; default: those of the matmuls, else all")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")
    fuse: bool = option(True, "let bundles grow around sums of products")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        number = 0
        for function in ops_of(op, "func.func"):
            bundles = find_bundles(function, GrowthOn(device, self.fuse, self.depth_between))
            mapped = self._on_one_grid(function, bundles, device, context)
            for bundle, strategy in mapped:
                _mark(bundle, number, strategy)
                group = group_of_bundle(bundle)
                for said in (_said(bundle, group, strategy, device), *conversions(group, device)):
                    context.remark(bundle.root, said)
                number += 1
            note_bundles(function, [bundle for bundle, _ in mapped])
        if number and not context.failed:
            context.count("bundles", number)
            record_device(op, device, self.device)

    def _on_one_grid(
        self, function: ir.Operation, bundles: list[Bundle], device: Device, context: PassContext
    ) -> list[tuple[Bundle, Strategy]]:
        """The strategies on one grid, the matmuls' or the largest that all bundles can have: another reconfigures."""
        grid = self.grid or _grid_of_matmuls(function)
        chosen = [(bundle, self._choose(bundle, grid, device)) for bundle in bundles]
        problems = [(bundle, what) for bundle, found in chosen if isinstance(found, list) for what in found]
        for bundle, (what, hint) in problems:
            context.error(bundle.root, what, hint)
        found = [(bundle, strategy) for bundle, strategy in chosen if isinstance(strategy, Strategy)]
        for shared in sorted({strategy.array for _, strategy in found}, key=prod, reverse=True):
            again = ((b, s if s.array == shared else self._choose(b, shared, device)) for b, s in found)
            same = [(b, s) for b, s in again if isinstance(s, Strategy) and s.array == shared]
            if len(same) == len(found):
                return same
        return found

    def _choose(self, bundle: Bundle, grid: tuple[int, int] | None, device: Device) -> Strategy | list[tuple[str, str]]:
        """The bundle's strategy, or why there is none."""
        try:
            given = said_of(bundle.root, BUNDLE_FIELDS)
        except ValueError as error:
            return [(f"npu.strategy is malformed: {error}", "see npuflow-assign-bundles in the docs")]
        if not given.grid and grid is not None:
            given = replace(given, grid=grid)
        if given.depth_between is None:
            given = replace(given, depth_between=self.depth_between)
        problem = rows_problem(bundle)
        if problem is not None:
            return [problem]
        group = group_of_bundle(bundle)
        found = misfits(group, given, device)
        lacked = lacked_by(bundle.root)
        strategy = given if found else best_of_bundle(bundle, group, device, given, lacked)
        found = found or first_causes(obstacles(group, strategy, device), given)
        return [(obstacle.message, obstacle.hint) for obstacle in found] or strategy


def _grid_of_matmuls(function: ir.Operation) -> tuple[int, int] | None:
    """The array that the matmuls of a function take: all of its ops share one."""
    found = (strategy_of(contraction.op) for contraction in static_matmuls(function))
    return next((strategy.array for strategy in found if strategy is not None), None)


def _mark(bundle: Bundle, number: int, strategy: Strategy) -> None:
    mark_bundle(bundle.ops, number)
    for op in bundle.ops:
        op.attributes[STRATEGY] = strategy.to_attribute()


def _said(bundle: Bundle, group: Group, strategy: Strategy, device: Device) -> str:
    used = total_l1_bytes(
        l1_buffers(group, mapping_of(group, strategy)), device.level(device.kernel_level).alignment_bytes
    )
    return (
        f"{len(bundle.ops)} ops on a grid of {strategy.grid[0]}x{strategy.grid[1]}, spread {list(strategy.spread)},"
        f" tile-l1 {list(strategy.tile_l1)}: L1 {used} of {device.capacity_bytes(device.kernel_level, 1, 1)} bytes"
    )
