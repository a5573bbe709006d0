"""npuflow-check-memory: what was allocated fits the device."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.bufferize.lifetimes import bytes_of, made_up_bytes, padding_bytes, peak_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.errors import needs_text
from npuflow.target import Device

_LEVELS = {1: "L2", 2: "L1"}


@register_pass
@dataclass(frozen=True)
class CheckMemory(Pass):
    """Refuses programs whose buffers of one block don't fit L1 or L2 together; changes nothing.

    A buffer in L2 counts once for the array, one in L1 once for each core. Buffers of loops that follow each other
    don't live at the same time, so of those only the largest sum counts; in a schedule they lie in each other's place
    where there is no room for all of them apart. Zeros around a copy from L3 take no room where the DMA engines of L2
    insert zeros, nor in L1 where a matrix engine makes them up: then no more counts than the tensor in L3 has.

    What is counted is the least that any schedule takes. A schedule's slots beyond the first, its alignment, and which
    column's memory a part of an L2 buffer is in, are known to npuflow-check-schedule, and before that to the choice of
    strategies, which leaves room for all of it in each group of ops.

        %a = memref.alloc() : memref<1024x1024xi32, 2>

    is refused by

        error: L1 of a core needs 4194304 bytes, has 64512 (4194304: memref<1024x1024xi32, 2>); hint: smaller tiles
    """

    name = "npuflow-check-memory"
    group = "bufferize"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for function in ops_of(op, "func.func"):
            for space, level in _LEVELS.items():
                _check(function, space, level, device, context)


def _check(function: ir.Operation, space: int, level: str, device: Device, context: PassContext) -> None:
    number = 3 - space
    have = device.capacity_bytes(number, device.rows, device.columns)
    need, buffers = peak_of(function, space)
    if need > have and number == 2 and device.dma(number).pads_with_zeros:
        need -= sum(map(padding_bytes, buffers))
    if need > have and number == device.kernel_level and device.patch_engine.padding_share:
        need -= sum(map(made_up_bytes, buffers))
    if need <= have:
        return
    largest = sorted(buffers, key=bytes_of, reverse=True)
    where = "L1 of a core" if number == 1 else f"L2 of {device.columns} columns"
    what = needs_text(where, need, "bytes", have, [f"{bytes_of(b)}: {b.results[0].type}" for b in largest])
    context.error(largest[0], what, f"choose smaller tiles for {level}")
