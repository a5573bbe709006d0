"""npuflow-check-memory: what was allocated fits the device."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, memory_space_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.ops.contraction import producer
from npuflow.target import Device

_LEVELS = {1: "L2", 2: "L1"}


@register_pass
@dataclass(frozen=True)
class CheckMemory(Pass):
    """Refuses programs whose buffers of one block don't fit L1 or L2 together; changes nothing.

    A buffer in L2 counts once for the array, one in L1 once for each core. Buffers of loops that follow each other
    don't live at the same time, so of those only the largest sum counts; in a schedule they lie in each other's place
    where there is no room for all of them apart. Zeros around a copy from L3 take no room where the DMA engines of L2
    insert zeros: then no more counts than the tensor in L3 has.

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
    need, buffers = _peak(function, space)
    if need > have and number == 2 and device.dma(number).pads_with_zeros:
        need -= sum(map(_padding_bytes, buffers))
    if need <= have:
        return
    largest = sorted(buffers, key=_bytes, reverse=True)
    listed = ", ".join(f"{_bytes(b)}: {b.results[0].type}" for b in largest[:3]) + (", ..." if largest[3:] else "")
    where = "L1 of a core" if number == 1 else f"L2 of {device.columns} columns"
    context.error(largest[0], f"{where} needs {need} bytes, has {have} ({listed})", f"choose smaller tiles for {level}")


def _peak(op: ir.Operation, space: int) -> tuple[int, list[ir.Operation]]:
    """The most bytes of `space` alive at once below `op`, and whose they are."""
    peaks = [_block_peak(block, space) for region in op.regions for block in region.blocks]
    return max(peaks, key=lambda peak: peak[0], default=(0, []))


def _block_peak(block: ir.Block, space: int) -> tuple[int, list[ir.Operation]]:
    """A buffer lives from its allocation to the last op of the block that uses it, itself or inside."""
    ops = [child.operation for child in block.operations]
    last_use: dict[int, list[ir.Operation]] = {}
    alive: list[ir.Operation] = []
    best: tuple[int, list[ir.Operation]] = (0, [])
    positions = {op: index for index, op in enumerate(ops)}
    for index, op in enumerate(ops):
        if _is_alloc(op, space):
            alive.append(op)
            last_use.setdefault(_last_use(op.results[0], positions, index), []).append(op)
        inside = _peak(op, space) if op.regions and not op.name.startswith("linalg.") else (0, [])
        now = sum(map(_bytes, alive)) + inside[0]
        if now > best[0]:
            best = (now, [*alive, *inside[1]])
        for ended in last_use.pop(index, []):
            alive.remove(ended)
    return best


def _last_use(buffer: ir.Value, positions: dict[ir.Operation, int], start: int) -> int:
    """The last op of the block that reads or writes the buffer, through views too."""
    last = start
    for use in buffer.uses:
        user = use.owner.operation
        for result in user.results:
            if isinstance(result.type, ir.MemRefType):
                last = max(last, _last_use(result, positions, start))
        while user not in positions:
            user = user.parent.operation
        last = max(last, positions[user])
    return last


def _is_alloc(op: ir.Operation, space: int) -> bool:
    if op.name != "memref.alloc":
        return False
    return memory_space_of(ir.MemRefType(op.results[0].type)) == space


def _bytes(op: ir.Operation) -> int:
    kind = ir.MemRefType(op.results[0].type)
    return element_bytes(kind.element_type) * prod(kind.shape)


def _padding_bytes(op: ir.Operation) -> int:
    """How much of a buffer is zeros whatever is copied into it: what the tensor it comes from is smaller by."""
    users = [use.owner.operation for use in op.results[0].uses]
    parts = [view.results[0] for view in users if view.name == "memref.subview"]
    into = [use.owner.operation for part in parts for use in part.uses if use.owner.operation.name == "memref.copy"]
    writers = [copy for copy in into if copy.operands[1] in parts]
    if len(writers) != 1 or not any(user.name == "linalg.fill" for user in users):
        return 0
    kind, tensor = ir.MemRefType(op.results[0].type), ir.MemRefType(_root(writers[0].operands[0]).type)
    if memory_space_of(tensor) or tensor.rank != kind.rank:
        return 0
    stored = prod(min(size, exists) for size, exists in zip(kind.shape, tensor.shape))
    return _bytes(op) - element_bytes(kind.element_type) * stored


def _root(value: ir.Value) -> ir.Value:
    """The buffer that a view is of."""
    view = producer(value, "memref.subview", "memref.cast")
    return value if view is None else _root(view.operands[0])
