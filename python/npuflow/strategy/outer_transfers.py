"""What a mapping moves between DRAM and L2: bytes, DRAM's time, channels, and what is set up for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

from npuflow.strategy.group import Group, Role, Tensor, Tiles
from npuflow.strategy.mapping import Mapping, pieces
from npuflow.strategy.patterns import pattern_dims, runs_of, steps_evenly
from npuflow.strategy.traffic import stays, traffic_bytes, visits
from npuflow.target import Device
from npuflow.target.model import DmaEngine
from npuflow.target.planned import goes_around_l2


@dataclass(frozen=True)
class OuterTransfers:
    """The transfers of a mapped group through the outermost DMA engines."""

    group: Group
    device: Device
    mapping: Mapping

    @cached_property
    def outermost(self) -> DmaEngine:
        """The DMA engines beside DRAM."""
        return self.device.dma(self.device.dram_level)

    @cached_property
    def blocks(self) -> int:
        return prod(self.counts)

    @cached_property
    def counts(self) -> list[int]:
        """How often each loop of the space steps from block to block."""
        return self.mapping.counts(self.group)

    @cached_property
    def outside(self) -> list[Tensor]:
        return [*self.group.inputs, *self.group.outputs]

    @cached_property
    def is_direct(self) -> bool:
        """Whether the outermost engines move what cores work on, with nothing between."""
        return goes_around_l2(self.device)

    @cached_property
    def in_l2(self) -> dict[str, Tiles]:
        """The tiles of what comes into L2 of each tensor at a time."""
        if self.is_direct:
            return {tensor.name: self.mapping.tiles for tensor in self.outside}
        return {tensor.name: self.mapping.tiles_in_l2(self.group, tensor) for tensor in self.outside}

    @cached_property
    def by_rows(self) -> frozenset[str]:
        """The tensors that memory tiles have for rows of cores."""
        if self.is_direct:
            return frozenset()
        return frozenset(t.name for t in self.group.inputs if self.mapping.goes_by_rows(self.group, t))

    @cached_property
    def largest(self) -> str:
        """The input with the largest tile."""
        return max(self.group.inputs, key=lambda tensor: tensor.bytes(self.mapping.tiles)).name

    @cached_property
    def moved(self) -> dict[str, int]:
        """What crosses between L3 and L2 for each tensor."""
        group, mapping, counts = self.group, self.mapping, self.counts
        return {
            t.name: traffic_bytes(group, mapping, t, self.in_l2[t.name], self.visits(t), counts, self._copies(t))
            for t in self.outside
        }

    def _copies(self, tensor: Tensor) -> int:
        """How often the same leaves DRAM for different memory tiles; cores without these between get it at once."""
        return 1 if self.is_direct else self.mapping.copies(self.group, tensor)

    @cached_property
    def dram_seconds(self) -> dict[str, float]:
        """How long DRAM takes for each tensor."""
        return {tensor.name: self._dram_seconds(tensor) for tensor in self.outside}

    @cached_property
    def busy_dram_seconds(self) -> float:
        """How long DRAM is busy: with what is read or written at the rate of that, or with all of it at its own."""
        dram, seconds = self.device.dram, self.dram_seconds
        read, written = (sum(seconds[t.name] for t in each) for each in (self.group.inputs, self.group.outputs))
        moved = read * dram.read_bytes_per_second + written * dram.write_bytes_per_second
        return max(read, written, moved / dram.total_bytes_per_second)

    def _dram_seconds(self, tensor: Tensor) -> float:
        dram, is_written = self.device.dram, tensor.role is Role.OUTPUT
        rate = dram.write_bytes_per_second if is_written else dram.read_bytes_per_second
        runs = runs_of(self.group, tensor, self._part(tensor))
        # Where neighbouring columns' runs adjoin, they are one.
        block = tensor.run_bytes(self.mapping.spread.block(self.in_l2[tensor.name])) if dram.joins_runs else 0
        run = max(runs.run_bytes, block)
        return self.moved[tensor.name] * (run + dram.run_overhead_bytes(runs, write=is_written)) / (run * rate)

    def visits(self, tensor: Tensor) -> int:
        """How often a tensor's part comes into L2."""
        return self._visited[tensor.name]

    @cached_property
    def _visited(self) -> dict[str, int]:
        order = self.mapping.order
        return {t.name: visits(self.group, t, self.in_l2[t.name], self.counts, order) for t in self.outside}

    def channels(self, tensor: Tensor) -> int:
        """How many channels of the outermost DMA engines move a tensor."""
        return self._channels[tensor.name]

    @cached_property
    def _channels(self) -> dict[str, int]:
        return {tensor.name: self._channels_of(tensor) for tensor in self.outside}

    def _channels_of(self, tensor: Tensor) -> int:
        """Those of the rows or columns that a tensor is for; results leave through columns that have any.

        Without memory tiles, the few that there are move a tensor for one core after the other that differ in it.
        """
        spread = self.mapping.spread
        rows, columns = spread.grid
        if self.is_direct:
            return prod(spread.cores(loop) for loop in dict.fromkeys(spread.loops) if tensor.follows(loop))
        if tensor.role is Role.INPUT:
            return rows if tensor.name in self.by_rows else columns
        if not tensor.follows(spread.columns):
            return 1
        part = spread.column(self.mapping.tiles)[spread.columns]
        return min(columns, -(-self.group.sizes[spread.columns] // part))

    def channel_seconds(self, tensors: Iterable[Tensor], times: Callable[[Tensor], int]) -> float:
        """The busiest of the outermost channels, at one of so many times that something is moved.

        Those by rows, by columns and outward work side by side.
        """
        if self.is_direct:
            inward, outward = (
                [self._direct_seconds(tensor) / times(tensor) for tensor in tensors if tensor.role is role]
                for role in (Role.INPUT, Role.OUTPUT)
            )
            lanes = self.device.ways.hop(self.device.dram_level, self.device.block_level)[0].lanes
            return max(sum(inward) / lanes, *inward, sum(outward), 0.0)
        bytes_: dict[tuple[bool, Role], float] = {}
        for tensor in tensors:
            key = (tensor.name in self.by_rows, tensor.role)
            share = self.moved[tensor.name] / (times(tensor) * self.channels(tensor))
            bytes_[key] = bytes_.get(key, 0.0) + share
        return max(bytes_.values(), default=0.0) / (self.outermost.bytes_per_cycle * self.device.clock_hz)

    def _direct_seconds(self, tensor: Tensor) -> float:
        """How long a channel takes to move a tensor, and to begin with each tile of it."""
        starts = self.visits(tensor) * self.channels(tensor) * self.outermost.start_cycles
        return (starts + self.moved[tensor.name] / self.outermost.bytes_per_cycle) / self.device.clock_hz

    def descriptors(self, tensor: Tensor) -> int:
        """How many descriptors a tensor takes: none for inner loops that move it by equal steps and fit the pattern."""
        return self.channels(tensor) * prod(self.set_up_loops(tensor))

    def set_up_loops(self, tensor: Tensor) -> list[int]:
        """The turns of the loops in which a tensor's transfers are set up."""
        return self._uncovered[tensor.name]

    @cached_property
    def _uncovered(self) -> dict[str, list[int]]:
        return {tensor.name: self._uncovered_loops(tensor) for tensor in self.outside}

    def _uncovered_loops(self, tensor: Tensor) -> list[int]:
        """The turns of the loops around a tensor's transfers that no descriptor covers."""
        limits, loops = self.outermost.pattern, self._loops_around(tensor)
        dims = pattern_dims(self.group, tensor, self._part(tensor), limits)
        for number, (turns, is_covered) in enumerate(loops):
            too_many = dims > limits.dims or (dims == limits.dims and turns > limits.iteration_max)
            if not is_covered or too_many:
                return [turns for turns, _ in loops[number:]]
            dims += 1
        return []

    def _loops_around(self, tensor: Tensor) -> list[tuple[int, bool]]:
        """Turns of the loops around a tensor's transfer, and whether a descriptor may cover them; innermost first."""
        group, block, tiles = self.group, self.mapping.block, self.in_l2[tensor.name]
        alike = group.inputs if tensor.role is Role.INPUT else group.outputs
        others = [other for other in alike if other is not tensor and self._share_channels(other, tensor)]
        found: list[tuple[int, bool]] = []
        cut_off, limits = group.cut_off[tensor.name], self.outermost.pattern
        beside = {loop for other in others for loop in self._around(other)}
        if tensor.role is Role.INPUT and group.streams_through(tensor):
            is_alone = not any(group.streams_through(other) for other in others)
            for loop in reversed(group.streamed):
                if (turns := -(-group.sizes[loop] // tiles[loop])) > 1:
                    steps = is_alone and loop not in cut_off and steps_evenly(group, tensor, loop, tiles[loop], limits)
                    found.append((turns, steps))
        for loop in self._around(tensor):
            is_alone = loop not in beside and loop not in cut_off
            found.append((self.counts[loop], is_alone and steps_evenly(group, tensor, loop, block[loop], limits)))
        return found

    def _around(self, tensor: Tensor) -> list[int]:
        """The loops over blocks in whose turns a tensor moves, innermost first."""
        order, counts = self.mapping.order, self.counts
        pieces_ = pieces(self.group, self.in_l2[tensor.name]) if tensor.role is Role.INPUT else 1
        streams = pieces_ > 1 and self.group.streams_through(tensor)
        inner = list(reversed(order))[0 if streams else stays(tensor, counts, order) :]
        return [loop for loop in inner if counts[loop] > 1]

    def _share_channels(self, one: Tensor, other: Tensor) -> bool:
        """Whether two tensors go through the same channels: where nothing goes by rows, the largest has its own."""
        if one.role is Role.OUTPUT or self.by_rows:
            return (one.name in self.by_rows) == (other.name in self.by_rows)
        return (one.name == self.largest) == (other.name == self.largest)

    def _part(self, tensor: Tensor) -> Tiles:
        """The tiles of what one channel moves of a tensor for a block."""
        return (self.in_l2 if tensor.name in self.by_rows else self._columns)[tensor.name]

    @cached_property
    def _columns(self) -> dict[str, Tiles]:
        """What a column of cores has of each tensor at a time."""
        return {name: self.mapping.spread.column(tiles) for name, tiles in self.in_l2.items()}
