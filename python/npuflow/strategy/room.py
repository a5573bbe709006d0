"""What a mapping takes: buffers in L1 and L2, and descriptors of DMA engines. Pure.

Buffers are those that the pipelines really allocate, with the slots that schedules give them: `test/strategy` holds
them together. The native core counts (`native/src/room.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuflow import _native
from npuflow.ops.products import padded
from npuflow.strategy.flat import flat_group, flat_machine, flat_mapping
from npuflow.strategy.group import Group, MatmulOperand, Tensor
from npuflow.strategy.lane_descriptors import TileDma
from npuflow.strategy.mapping import Mapping
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
    found = flat_group(group).l1_buffers(flat_mapping(mapping))
    names = ["acc" if tensor.operand is MatmulOperand.SUM else tensor.name for tensor in group.tensors]
    return [Slots(names[number], int(size), depth) for number, size, depth, _ in found]


def l2_buffers(group: Group, mapping: Mapping, device_columns: int, *, clips: bool = False) -> list[Slots]:
    """The buffers of the grid in memory tiles; clipped, they hold no zeros of inputs.

    What is divided by the array's rows lies in as many memory tiles as divide them evenly, all else in every column's.
    A sum that is continued is read where the result will be, unless a tail makes something else of it.
    """
    found = flat_group(group).l2_buffers(flat_mapping(mapping), device_columns, clips)
    return [Slots(group.tensors[number].name, int(size), depth, int(most)) for number, size, depth, most in found]


def row_tiles(rows: int, device_columns: int) -> int:
    """Memory tiles that hold what is divided by the array's rows: as many as divide them evenly."""
    return _native.row_tiles(rows, device_columns)


def total_l1_bytes(buffers: Sequence[Slots], alignment_bytes: int) -> int:
    """What buffers take of a core's memory, each slot aligned."""
    return sum(padded(buffer.slot_bytes, alignment_bytes) * buffer.depth for buffer in buffers)


def fullest_l2_bytes(buffers: Sequence[Slots]) -> int:
    """What buffers take of the memory tile that has most of them."""
    return sum(buffer.fullest_bytes * buffer.depth for buffer in buffers)


def l1_descriptors(group: Group, mapping: Mapping) -> int:
    """The descriptors beside a core: one for each slot of what comes in and goes out."""
    return flat_group(group).l1_descriptors(flat_mapping(mapping))


def l2_descriptors(group: Group, mapping: Mapping, serving: int, dma: TileDma, *, clips: bool = False) -> int:
    """The descriptors of a memory tile, of which its channels in turn have a group each: those of the fullest group.

    Each slot takes one to be filled and one for each part that it is emptied in: what follows the rows is handed to
    every row of cores, and results are gathered from each, on its own. What one descriptor doesn't step through, such
    as windows of volumes copied out one by one, takes several. What only follows the rows has channels of its
    own; where nothing does, buffers take the lanes that even descriptors out. Results, and inputs that are clipped,
    take as many for each way in which a block is cut off. `serving` memory tiles serve the rows.
    """
    return flat_group(group).l2_descriptors(flat_mapping(mapping), serving, dma.flat, clips)


def tile_descriptors(group: Group, mapping: Mapping, device: Device) -> int:
    """The same of a device's memory tiles."""
    rows = mapping.spread.grid[0]
    return l2_descriptors(group, mapping, row_tiles(rows, device.columns), TileDma.of(device, rows))


def fits(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether tiles fit L1 and blocks L2: with the zeros around them, or clipped where L2's DMA inserts them."""
    return flat_group(group).fits(flat_mapping(mapping), flat_machine(device))


def fits_l1(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether a core has room for its tiles, and descriptors for them."""
    return flat_group(group).fits_l1(flat_mapping(mapping), flat_machine(device))


def fits_l2(group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether memory tiles have room for the blocks, and descriptors for them."""
    return flat_group(group).fits_l2(flat_mapping(mapping), flat_machine(device))


def home_room(group: Group, mapping: Mapping, device: Device, number: int) -> tuple[int, ...]:
    """The bytes that a group leaves to the tensor of a number of each memory where that could stay; none without these.

    Of a memory tile that serves cores it leaves nothing where who makes the tensor has no channel into the tile for it,
    and it doesn't collect pieces of its own, in turn with others; or who reads it no channel out. Ports of DRAM reach
    scratchpads whatever a group does.
    """
    level = None if device.home_level is None else device.level(device.home_level)
    if level is None:
        return ()
    count = level.shared_by.instances(device.rows, device.columns)
    if level.number == device.kernel_level:
        own, taken = prod(mapping.spread.grid), total_l1_bytes(l1_buffers(group, mapping), level.alignment_bytes)
    else:
        own, taken = mapping.spread.grid[1], fullest_l2_bytes(l2_buffers(group, mapping, device.columns))
    left = max(0, level.usable_bytes - taken)
    serves = level.number != device.kernel_level
    return tuple(
        level.usable_bytes
        if memory >= own
        else left * (not serves or _has_channel(group, mapping, device, number, memory))
        for memory in range(count)
    )


def _has_channel(group: Group, mapping: Mapping, device: Device, number: int, tile: int) -> bool:
    """Whether a memory tile, which serves cores, has a channel for the tensor of a number as a group moves that.

    What follows the rows alone takes a lane of its own, of the tiles that serve rows only. Into a tile, each row's
    results take a channel; out of it, each lane one, or, where nothing follows the rows alone, one for each row that it
    brings something of its own.
    """
    rows, dma = mapping.spread.grid[0], device.dma(device.block_level)
    ways, serving = TileDma.of(device, rows), row_tiles(rows, device.columns)
    by_columns = [tensor for tensor in group.inputs if not _follows_rows_alone(tensor, mapping)]
    by_rows = len(by_columns) < len(group.inputs)
    lanes = min(ways.lanes - by_rows, len(by_columns)) + (by_rows and tile < serving)
    made = [tensor for tensor in group.outputs if tensor.number == number]
    if made:
        return lanes + rows < dma.channels_in or all(_in_turn(tensor, group, mapping) for tensor in made)
    is_read = any(tensor.number == number for tensor in group.inputs)
    spare = dma.channels_out - ways.leaving - lanes
    own = 0 if by_rows else _lanes_of_rows(by_columns, group, mapping, lanes)
    for _ in range(own):
        spare -= rows - 1 if rows - 1 <= spare else 0
    return not is_read or spare > 0


def _lanes_of_rows(inputs: Sequence[Tensor], group: Group, mapping: Mapping, lanes: int) -> int:
    """How many of so many lanes have a channel for each row: those that bring more for single rows than for all.

    Inputs take lanes as schedules balance them (`schedule/project/lanes`): the largest load first, each where there is
    least. A lane that brings more for all rows stays one channel, which is a multicast.
    """
    rows = mapping.spread.grid[0]
    single, common = [0] * lanes, [0] * lanes
    loads = [(_sent_bytes(tensor, group, mapping), tensor.follows(mapping.spread.rows)) for tensor in inputs]
    for load, is_single in sorted((load * (rows if is_single else 1), is_single) for load, is_single in loads)[::-1]:
        lane = min(range(lanes), key=lambda each: single[each] + common[each])
        (single if is_single else common)[lane] += load
    return sum(for_rows > for_all for for_rows, for_all in zip(single, common))


def _sent_bytes(tensor: Tensor, group: Group, mapping: Mapping) -> int:
    """What comes into a core of a tensor in all: a tile whenever a loop steps that it follows, or one around that."""
    block = mapping.spread.block(mapping.tiles)
    steps = [-(-group.sizes[loop] // block[loop]) for loop in mapping.order]
    stepping = [place for place, loop in enumerate(mapping.order) if tensor.follows(loop) and steps[place] > 1]
    pieces = prod(-(-group.sizes[loop] // mapping.tiles[loop]) for loop in group.streamed if tensor.follows(loop))
    turns = steps if pieces > 1 else steps[: stepping[-1] + 1] if stepping else []
    return tensor.bytes(mapping.tiles) * pieces * prod(turns)


def _follows_rows_alone(tensor: Tensor, mapping: Mapping) -> bool:
    rows, columns = mapping.spread.rows, mapping.spread.columns
    return rows != columns and tensor.follows(rows) and not tensor.follows(columns)


def _in_turn(tensor: Tensor, group: Group, mapping: Mapping) -> bool:
    """Whether the tiles of a grid's columns collect pieces of a result in turn, each as many as the others."""
    rows, columns = mapping.spread.grid
    loop = mapping.spread.columns
    step = mapping.tiles[loop] * (rows if mapping.spread.rows == loop else 1)
    along = [place for place, dim in enumerate(tensor.dims) if dim.loop == loop]
    if columns == 1 or not along:
        return columns == 1
    return prod(tensor.shape[: along[0]]) == 1 or group.sizes[loop] % (step * columns) == 0
