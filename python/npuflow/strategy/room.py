"""What a mapping takes: buffers in L1 and L2, and descriptors of DMA engines. Pure arithmetic.

Buffers are those that the pipelines really allocate, with the slots that schedules give them: `test/strategy` holds
them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuflow.ops.products import padded
from npuflow.strategy.group import Group, MatmulOperand, Role, Tensor, Tiles
from npuflow.strategy.lane_descriptors import Lane, Moved, Results, TileDma, evenest, fullest_group, lanes_of
from npuflow.strategy.mapping import Mapping, steps_of
from npuflow.target import Device


@dataclass(frozen=True)
class Slots:
    """A buffer of `depth` slots; `fullest_bytes` are what a slot takes of the memory tile that has most of it."""

    name: str
    slot_bytes: int
    depth: int = 1
    fullest_bytes: int = 0

    @property
    def bytes(self) -> int:
        return self.slot_bytes * self.depth

    def __str__(self) -> str:
        return f"{self.name} {self.depth}x{self.slot_bytes}" if self.depth > 1 else f"{self.name} {self.slot_bytes}"


def l1_buffers(group: Group, mapping: Mapping) -> list[Slots]:
    """The buffers of a core; the last piece of a streamed loop has one of its own where it is smaller."""
    found, tiles = [], mapping.tiles
    for tensor in group.tensors:
        if tensor.operand is MatmulOperand.START:
            continue
        name = "acc" if tensor.operand is MatmulOperand.SUM else tensor.name
        size, depth = tensor.l1_bytes(tiles), l1_slots(group, mapping, tensor)
        found += [Slots(name, part, depth) for part in _with_left_over(group, tensor, size, tiles)]
    return found


def l1_slots(group: Group, mapping: Mapping, tensor: Tensor) -> int:
    """The slots of a tensor's buffer in a core: one for what stays with an engine there, or comes just once."""
    if tensor.role is Role.OUTPUT:
        return mapping.depths.result
    if tensor.handed_over:
        return mapping.depths.between
    if tensor.role is Role.LOCAL or mapping.comes_once(group, tensor, mapping.tiles):
        return 1
    return mapping.depths.of(tensor.operand)[1]


def l2_buffers(group: Group, mapping: Mapping, device_columns: int, *, clips: bool = False) -> list[Slots]:
    """The buffers of the grid in memory tiles; clipped, they hold no zeros of inputs.

    What is divided by the array's rows lies in as many memory tiles as divide them evenly, all else in every column's.
    A sum that is continued is read where the result will be, unless a tail makes something else of it.
    """
    found, spread = [], mapping.spread
    rows_each = spread.grid[0] // row_tiles(spread.grid[0], device_columns)
    has_sum = any(tensor.role is Role.LOCAL for tensor in group.tensors)
    for tensor in group.tensors:
        if tensor.role is Role.LOCAL or (tensor.operand is MatmulOperand.START and not has_sum):
            continue
        own, is_input = mapping.tiles_in_l2(group, tensor), tensor.role is Role.INPUT
        depth = mapping.depths.of(tensor.operand)[0] if is_input else mapping.depths.result
        depth = 1 if is_input and mapping.comes_once(group, tensor, own) else depth
        size = tensor.stored_bytes if clips and is_input else tensor.bytes
        own, by_rows = mapping.held_in_l2(group, tensor, own), mapping.goes_by_rows(group, tensor)
        share = size(own) * rows_each if by_rows else size(spread.column(own))
        whole = _with_left_over(group, tensor, size(spread.block(own)), own)
        parts = _with_left_over(group, tensor, share, own)
        found += [Slots(tensor.name, slot, depth, part) for slot, part in zip(whole, parts)]
    return found


def row_tiles(rows: int, device_columns: int) -> int:
    """Memory tiles that hold what is divided by the array's rows: as many as divide them evenly."""
    return max(tiles for tiles in range(1, device_columns + 1) if rows % tiles == 0)


def _with_left_over(group: Group, tensor: Tensor, size: int, tiles: Tiles) -> list[int]:
    """A buffer's size, and those of others for what is left of streamed loops."""
    sizes = [size]
    for loop in () if group.pads_streamed else group.streamed:
        left = group.sizes[loop] % tiles[loop]
        if left and tensor.follows(loop):
            sizes += [-(-size * left // tiles[loop]) for size in sizes]
    return sizes


def total_l1_bytes(buffers: Sequence[Slots], alignment_bytes: int) -> int:
    """What buffers take of a core's memory, each slot aligned."""
    return sum(padded(buffer.slot_bytes, alignment_bytes) * buffer.depth for buffer in buffers)


def fullest_l2_bytes(buffers: Sequence[Slots]) -> int:
    """What buffers take of the memory tile that has most of them."""
    return sum(buffer.fullest_bytes * buffer.depth for buffer in buffers)


def l1_descriptors(group: Group, mapping: Mapping) -> int:
    """The descriptors beside a core: one for each slot of what comes in and goes out."""
    total = 0
    for tensor in group.tensors:
        if tensor.role is Role.INPUT and tensor.operand is not MatmulOperand.START:
            total += l1_slots(group, mapping, tensor) * _buffers(group, tensor, mapping.tiles)
        total += mapping.depths.result if tensor.role is Role.OUTPUT else 0
    return total


def l2_descriptors(group: Group, mapping: Mapping, serving: int, dma: TileDma, *, clips: bool = False) -> int:
    """The descriptors of a memory tile, of which its channels in turn have a group each: those of the fullest group.

    Each slot takes one to be filled and one for each part that it is emptied in: what follows the rows is handed to
    every row of cores, and results are gathered from each, on its own. What only follows the rows has channels of its
    own; where nothing does, buffers take the lanes that even descriptors out. Results, and inputs that are clipped,
    take as many for each way in which a block is cut off. `serving` memory tiles serve the rows.
    """
    rows, together = mapping.spread.grid[0], mapping.spread.grid[0] // serving
    by_rows, moved, gathered, left, depths = 0, [], 0, 0, mapping.depths
    for tensor in group.tensors:
        if tensor.role is Role.OUTPUT:
            gathered, left = gathered + depths.result, left + depths.result * _cuts(group, mapping, tensor)
        if tensor.role is not Role.INPUT:
            continue
        ways = _cuts(group, mapping, tensor) if clips else 1
        slots = depths.of(tensor.operand)[0] * ways * _buffers(group, tensor, mapping.tiles)
        if mapping.goes_by_rows(group, tensor):
            by_rows += slots
        else:
            moved.append(Moved(slots, slots, tensor.follows(mapping.spread.rows)))
    results = Results(gathered, left)
    if not by_rows:
        choice = evenest(tuple(moved), results, dma)
        return fullest_group(lanes_of(moved, choice, dma), results, dma)
    columns = sum(buffer.filled for buffer in moved), sum(b.emptied * (rows if b.by_rows else 1) for b in moved)
    return fullest_group([Lane(0, by_rows * together, by_rows, together), Lane(1, *columns)], results, dma)


def _buffers(group: Group, tensor: Tensor, tiles: Tiles) -> int:
    """How many buffers a tensor has: one more for each streamed loop whose last piece is smaller."""
    if group.pads_streamed:
        return 1
    return 2 ** sum(group.sizes[loop] % tiles[loop] > 0 for loop in group.streamed if tensor.follows(loop))


def _cuts(group: Group, mapping: Mapping, tensor: Tensor) -> int:
    """In how many ways at most a tensor's blocks are cut off: a few at an edge, each in its way, others not.

    Inputs may reach over either edge, results over the far one alone.
    """
    block = mapping.block
    counts, ways = [-(-size // step) for size, step in zip(group.sizes, block)], 1
    for dim, size in zip(tensor.dims, tensor.shape):
        steps = steps_of(group, dim, mapping.tiles, counts)
        advance = min((c * block[loop] for loop, c in dim.terms), default=1)
        missing = sum(c * (counts[loop] * block[loop] - 1) for loop, c in dim.terms) + 1 - size
        cut = -(-missing // advance) if tensor.role is Role.OUTPUT else 2 + missing // advance
        ways *= min(steps, 1 + cut) if missing > 0 else 1
    return ways


def fits(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether tiles fit L1 and blocks L2: with the zeros around them, or clipped where L2's DMA inserts them."""
    return fits_l1(group, mapping, device) and fits_l2(group, mapping, device) and _hands_out(group, mapping, device)


def fits_l1(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether a core has room for its tiles, and descriptors for them."""
    dma = device.dma(device.kernel_level)
    if l1_descriptors(group, mapping) > dma.descriptors or _most_slots(group, mapping)[1] > dma.lock_max:
        return False
    need = total_l1_bytes(l1_buffers(group, mapping), device.level(device.kernel_level).alignment_bytes)
    return need <= device.capacity_bytes(device.kernel_level, 1, 1)


def _most_slots(group: Group, mapping: Mapping) -> tuple[int, int]:
    """Slots in L2 and L1 of the buffer that has most: locks count up to them."""
    moved = [mapping.depths.of(tensor.operand) for tensor in group.tensors if tensor.role is Role.INPUT]
    in_l1 = max(l1_slots(group, mapping, tensor) for tensor in group.tensors)
    return max((mapping.depths.result, *(l2 for l2, _ in moved))), in_l1


def fits_l2(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether memory tiles have room for the blocks, and descriptors for them."""
    rows, dma = mapping.spread.grid[0], device.dma(device.block_level)
    if _most_slots(group, mapping)[0] > dma.lock_max:
        return False
    have, tile = device.capacity_bytes(device.block_level, 1, 1), TileDma.of(device, rows)
    for clips in (False, True) if dma.pads_with_zeros and not group.packed else (False,):
        if fullest_l2_bytes(l2_buffers(group, mapping, device.columns, clips=clips)) > have:
            continue
        need = l2_descriptors(group, mapping, row_tiles(rows, device.columns), tile, clips=clips)
        if need <= dma.descriptors // dma.descriptor_groups:
            return True
    return False


def _hands_out(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether pieces of what L2 has more of leave it by one pattern, and so take no descriptors of their own."""
    limits = device.dma(device.block_level).pattern
    for tensor in () if group.packed else group.inputs:
        whole = mapping.tiles_in_l2(group, tensor)
        cut = [loop for loop in group.streamed if tensor.follows(loop) and mapping.tiles[loop] < whole[loop]]
        dims = len(tensor.loops) if tensor.gathered else len(tensor.dims)
        turns = prod(-(-whole[loop] // mapping.tiles[loop]) for loop in cut)
        if cut and (dims + len(cut) > limits.dims + 1 or turns > limits.iteration_max):
            return False
    return True
