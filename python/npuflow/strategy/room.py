"""What a mapping takes: buffers in L1 and L2, and descriptors of DMA engines. Pure.

Buffers are those that the pipelines really allocate, with the slots that schedules give them: `test/strategy` holds
them together. The native core counts (`native/src/room.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from npuflow import _native
from npuflow.ops.products import padded
from npuflow.strategy.flat import flat_group, flat_machine, flat_mapping
from npuflow.strategy.group import Group, MatmulOperand, Tensor
from npuflow.strategy.lane_descriptors import TileDma
from npuflow.strategy.mapping import Mapping
from npuflow.target import Device, MemoryLevel


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
    return HomeRoom(group, mapping, device).of(number)


@dataclass(frozen=True)
class HomeRoom:
    """The same of a group and a mapping: what is alike for all tensors is counted once."""

    group: Group
    mapping: Mapping
    device: Device

    def of(self, number: int) -> tuple[int, ...]:
        made = [tensor for tensor in self.group.outputs if tensor.number == number]
        if made:
            in_turn = all(_in_turn(tensor, self.group, self.mapping) for tensor in made)
            return self._with_channels if in_turn else self._of_result
        is_read = any(tensor.number == number for tensor in self.group.inputs)
        return self._of_input if is_read else self._with_channels

    @cached_property
    def _of_input(self) -> tuple[int, ...]:
        return self._where(self._has_channel_out)

    @cached_property
    def _of_result(self) -> tuple[int, ...]:
        return self._where(self._has_channel_in)

    @cached_property
    def _with_channels(self) -> tuple[int, ...]:
        return self._where(lambda _: True)

    def _where(self, has_channel: Callable[[bool], bool]) -> tuple[int, ...]:
        """The room of each memory, of those that serve cores where they have a channel: it may serve rows or not."""
        level = self._level
        if level is None:
            return ()
        own, left = self._left
        count = level.shared_by.instances(self.device.rows, self.device.columns)
        if level.number == self.device.kernel_level:
            serving = [left] * own
        else:
            first = min(own, row_tiles(self.mapping.spread.grid[0], self.device.columns))
            serving = [left * has_channel(True)] * first + [left * (own > first and has_channel(False))] * (own - first)
        return (*serving, *[level.usable_bytes] * (count - own))

    @cached_property
    def _level(self) -> MemoryLevel | None:
        return None if self.device.home_level is None else self.device.level(self.device.home_level)

    @cached_property
    def _left(self) -> tuple[int, int]:
        """Of how many memories the group takes something, and what it leaves of each."""
        level = self._level
        assert level is not None
        if level.number == self.device.kernel_level:
            own = prod(self.mapping.spread.grid)
            taken = total_l1_bytes(l1_buffers(self.group, self.mapping), level.alignment_bytes)
        else:
            own = self.mapping.spread.grid[1]
            taken = fullest_l2_bytes(l2_buffers(self.group, self.mapping, self.device.columns))
        return own, max(0, level.usable_bytes - taken)

    def _has_channel_in(self, serves_rows: bool) -> bool:
        """Into a memory tile, each row's results take one, beside those of the lanes."""
        channels = self.device.dma(self.device.block_level).channels_in
        return self._lanes_of(serves_rows) + self.mapping.spread.grid[0] < channels

    def _has_channel_out(self, serves_rows: bool) -> bool:
        """Out of a memory tile, each lane takes one; where nothing follows the rows alone, one for each row in need.

        That is one that it brings something of its own.
        """
        rows, dma = self.mapping.spread.grid[0], self.device.dma(self.device.block_level)
        spare = dma.channels_out - self._ways.leaving - self._lanes_of(serves_rows)
        for _ in range(self._lanes_with_channels_for_rows):
            spare -= rows - 1 if rows - 1 <= spare else 0
        return spare > 0

    def _lanes_of(self, serves_rows: bool) -> int:
        """Of tiles that serve rows, what follows these alone has a lane of its own."""
        return self._lanes + (self._by_rows and serves_rows)

    @cached_property
    def _ways(self) -> TileDma:
        return TileDma.of(self.device, self.mapping.spread.grid[0])

    @cached_property
    def _by_columns(self) -> list[Tensor]:
        return [tensor for tensor in self.group.inputs if not _follows_rows_alone(tensor, self.mapping)]

    @cached_property
    def _by_rows(self) -> bool:
        return len(self._by_columns) < len(self.group.inputs)

    @cached_property
    def _lanes(self) -> int:
        return min(self._ways.lanes - self._by_rows, len(self._by_columns))

    @cached_property
    def _lanes_with_channels_for_rows(self) -> int:
        return 0 if self._by_rows else _lanes_of_rows(self._by_columns, self.group, self.mapping, self._lanes)


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
