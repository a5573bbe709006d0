"""What is remarked of a strategy that was chosen: its numbers, the room it takes, what it does without. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from npuflow.strategy.group import MatmulOperand
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.open_groups import OpenGroup
from npuflow.strategy.room import fullest_l2_bytes, l1_buffers, l2_buffers, total_l1_bytes
from npuflow.strategy.strategy import Strategy
from npuflow.strategy.work_cycles import conversions
from npuflow.target import Device


def choice_remarks(one: OpenGroup, strategy: Strategy, device: Device, lost: float) -> Iterator[str]:
    """A line for each thing that there is to say, what was chosen first; `lost` are the seconds that are in DRAM."""
    yield from (_of_matmul if one.bundle is None else _of_bundle)(one, strategy, device)
    if lost:
        yield (
            "is mapped for what parts hand over to stay on the chip: in DRAM, it takes an estimated"
            f" {lost * 1e6:.3g} us more than it has to"
        )


def _of_bundle(one: OpenGroup, strategy: Strategy, device: Device) -> Iterator[str]:
    used = total_l1_bytes(
        l1_buffers(one.group, mapping_of(one.group, strategy)), device.level(device.kernel_level).alignment_bytes
    )
    yield (
        f"{len(one.ops)} ops on a grid of {strategy.grid[0]}x{strategy.grid[1]}, spread {list(strategy.spread)},"
        f" tile-l1 {list(strategy.tile_l1)}: L1 {used} of {device.capacity_bytes(device.kernel_level, 1, 1)} bytes"
    )
    yield from conversions(one.group, device)


def _of_matmul(one: OpenGroup, strategy: Strategy, device: Device) -> Iterator[str]:
    mapping = mapping_of(one.group, strategy, whole_k=one.whole_k)
    l1, l2 = l1_buffers(one.group, mapping), l2_buffers(one.group, mapping, device.columns)
    have_l1, have_l2 = (
        device.capacity_bytes(level, *strategy.array) for level in (device.kernel_level, device.block_level)
    )
    alignment, columns = device.level(device.kernel_level).alignment_bytes, strategy.array[1]
    used_l1, used_l2 = total_l1_bytes(l1, alignment), columns * fullest_l2_bytes(l2)
    yield (
        f"grid {strategy.grid[0]}x{strategy.grid[1]}, tile-l2 {strategy.tile_l2}, tile-l1 {strategy.tile_l1}, pack"
        f" {strategy.pack}: L1 {used_l1} of {have_l1} bytes, L2 {used_l2} of {have_l2} bytes"
    )
    yield from conversions(one.group, device)
    operands = [tensor for tensor in one.group.inputs if tensor.operand in (MatmulOperand.LHS, MatmulOperand.RHS)]
    levels = (("L2", l2, used_l2, have_l2), ("L1", l1, used_l1, have_l1))
    for place, (level, buffers, used, have) in reversed(list(enumerate(levels))):
        names = [tensor.name for tensor in operands if mapping.depths.of(tensor.operand)[place] == 1]
        single = [buffer for buffer in buffers if buffer.name in names]
        if single:
            need = used + sum(buffer.slot_bytes for buffer in single)
            yield f"{level} is single-buffered: two slots each would need {need} of {have} bytes"
