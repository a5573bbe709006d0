"""npuflow-assign-strategy: every matmul says how it will be mapped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device, record_device
from npuflow.errors import InputError, with_hint
from npuflow.ops.contraction import STRATEGY, Contraction, enclosing, matmuls
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_group import group_of_matmul, types_of
from npuflow.strategy.feasibility import first_causes, obstacles
from npuflow.strategy.group import MatmulOperand
from npuflow.strategy.lacked import lacked_by
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.room import fullest_l2_bytes, l1_buffers, l2_buffers, total_l1_bytes
from npuflow.strategy.strategy import DEPTHS, MATMUL_FIELDS, Strategy, said_of
from npuflow.strategy.work import note_matmuls
from npuflow.strategy.work_cycles import conversions
from npuflow.target import Device


class KInL2(Enum):
    """How much of K the pipeline keeps in L2 at a time."""

    TILE = "tile"
    WHOLE = "whole"


@register_pass
@dataclass(frozen=True)
class AssignStrategy(Pass):
    """Completes each matmul's strategy and refuses what doesn't fit the device, before anything is rewritten.

    The device is noted on the module as `npu.device`, where later passes find it; what the matmuls are and how they are
    mapped, on their function as `npu.work`, for reports.

    What a `#npu.strategy` on the op says comes first, then this pass's options, then the choice for the device; where
    the function's `npu.lacked` says that choices needed too much, the next one that needs less.

        %r = linalg.matmul ins(...) outs(...)

    becomes

        %r = linalg.matmul {npu.strategy = #npu.strategy<{depth_l1 = 2 : i64, depth_l2 = 2 : i64, grid = [4, 4],
          pack = [4, 8, 8], tile_l1 = [64, 64, 64], tile_l2 = [256, 256, 256]}>} ins(...) outs(...)
    """

    name = "npuflow-assign-strategy"
    group = "strategy"
    assigns_strategies = True
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    grid: tuple[int, int] | None = option(None, "rows,columns of cores (along m, along n)")
    tile_l2: tuple[int, int, int] | None = option(None, "m,n,k of a block in L2")
    tile_l1: tuple[int, int, int] | None = option(None, "m,n,k of a core's tile in L1")
    pack: tuple[int, int, int] | None = option(None, "m,n,k of the matmul instruction")
    k_in_l2: KInL2 = option(KInL2.TILE, "how much of K is in L2 at a time")
    depth_l2: int | None = option(None, "slots of each operand's buffer in L2")
    depth_l1: int | None = option(None, "slots of each operand's buffer in L1")
    depth_lhs: tuple[int, int] | None = option(None, "slots of the left operand's buffers in L2,L1")
    depth_rhs: tuple[int, int] | None = option(None, "slots of the right operand's buffers in L2,L1")
    depth_result: int | None = option(None, "slots of the result's buffers")
    depth_tail: int | None = option(None, "slots of what the tail reads beside the sum, in L2 and L1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        chosen = [(c, strategy) for c in matmuls(op, context) if (strategy := self._choose(c, device, context))]
        if not context.failed:
            chosen = self._on_one_grid(chosen, device, context)
        if context.failed:
            return
        for contraction, strategy in chosen:
            contraction.op.attributes[STRATEGY] = strategy.to_attribute()
            _remark(contraction, strategy, device, self.whole_k, context)
        for function in ops_of(op, "func.func"):
            note_matmuls(function)
        record_device(op, device, self.device)

    @property
    def whole_k(self) -> bool:
        return self.k_in_l2 is KInL2.WHOLE

    def _on_one_grid(
        self, chosen: list[tuple[Contraction, Strategy]], device: Device, context: PassContext
    ) -> list[tuple[Contraction, Strategy]]:
        """The matmuls of a function on one array, the largest any of them wants: another would reconfigure it."""
        arrays: dict[ir.Operation | None, tuple[int, int]] = {}
        for contraction, strategy in chosen:
            function = enclosing(contraction.op, "func.func")
            arrays[function] = _on_both(arrays.get(function, (1, 1)), strategy.array, device)
        result = []
        for contraction, strategy in chosen:
            array = arrays[enclosing(contraction.op, "func.func")]
            again = strategy if strategy.array == array else self._choose(contraction, device, context, array)
            result.append((contraction, again or strategy))
        return result

    def _choose(
        self, contraction: Contraction, device: Device, context: PassContext, array: tuple[int, int] | None = None
    ) -> Strategy | None:
        """The strategy of one matmul, on `array` unless it says otherwise; None after reporting why there is none."""
        try:
            device.matmul_shapes(*types_of(contraction))
        except InputError as error:
            context.error(contraction.op, error.diagnostics[0].message)
            return None
        given = self._given(contraction, context)
        if given is None:
            return None
        group = group_of_matmul(contraction)
        lacked = lacked_by(contraction.op)
        strategy = complete(group, given, device, whole_k=self.whole_k, array=array, lacked=lacked)
        found = first_causes(obstacles(group, strategy, device, whole_k=self.whole_k), given)
        for obstacle in found:
            context.error(contraction.op, obstacle.message, obstacle.hint)
        return None if found else strategy

    def _given(self, contraction: Contraction, context: PassContext) -> Strategy | None:
        said = {key: value for key in _GIVEN if (value := getattr(self, key)) is not None}
        wrong = [key for key, value in said.items() if (value if isinstance(value, int) else min(value)) < 1]
        for key in wrong:
            context.error(
                contraction.op, f"option {key.replace('_', '-')}={said[key]} is not positive", "sizes start at 1"
            )
        if wrong:
            return None
        try:
            return self.said_for(contraction.op)
        except ValueError as error:
            context.error(contraction.op, with_hint(f"npu.strategy is malformed: {error}", _EXAMPLE))
            return None

    def said_for(self, op: ir.Operation) -> Strategy:
        """What a matmul says of its strategy, and these options of the rest; raises ValueError where that is wrong."""
        options = {key: value for key in _GIVEN if (value := getattr(self, key)) is not None}
        return Strategy(**{**options, **said_of(op, MATMUL_FIELDS).said()})


def _on_both(one: tuple[int, int], other: tuple[int, int], device: Device) -> tuple[int, int]:
    """The smallest array that holds two; where the device has none, the one of them with more cores."""
    both = (max(one[0], other[0]), max(one[1], other[1]))
    return both if device.has_grid(*both) else max(one, other, key=prod)


_GIVEN = ("grid", "tile_l2", "tile_l1", "pack", *DEPTHS)
_EXAMPLE = (
    "for example #npu.strategy<{grid = [2, 2], tile_l2 = [64, 64, 256], tile_l1 = [32, 32, 32], pack = [4, 8, 8]}>"
)


def _remark(contraction: Contraction, strategy: Strategy, device: Device, whole_k: bool, context: PassContext) -> None:
    group = group_of_matmul(contraction)
    mapping = mapping_of(group, strategy, whole_k=whole_k)
    l1, l2 = l1_buffers(group, mapping), l2_buffers(group, mapping, device.columns)
    have_l1, have_l2 = (
        device.capacity_bytes(level, *strategy.array) for level in (device.kernel_level, device.block_level)
    )
    alignment, columns = device.level(device.kernel_level).alignment_bytes, strategy.array[1]
    used_l1, used_l2 = total_l1_bytes(l1, alignment), columns * fullest_l2_bytes(l2)
    context.remark(
        contraction.op,
        f"grid {strategy.grid[0]}x{strategy.grid[1]}, tile-l2 {strategy.tile_l2}, tile-l1 {strategy.tile_l1}, pack"
        f" {strategy.pack}: L1 {used_l1} of {have_l1} bytes, L2 {used_l2} of {have_l2} bytes",
    )
    for converted in conversions(group, device):
        context.remark(contraction.op, converted)
    operands = [tensor for tensor in group.inputs if tensor.operand in (MatmulOperand.LHS, MatmulOperand.RHS)]
    levels = (("L2", l2, used_l2, have_l2), ("L1", l1, used_l1, have_l1))
    for place, (level, buffers, used, have) in reversed(list(enumerate(levels))):
        names = [tensor.name for tensor in operands if mapping.depths.of(tensor.operand)[place] == 1]
        single = [buffer for buffer in buffers if buffer.name in names]
        if single:
            need = used + sum(buffer.slot_bytes for buffer in single)
            what = f"{level} is single-buffered: two slots each would need {need} of {have} bytes"
            context.remark(contraction.op, what)
