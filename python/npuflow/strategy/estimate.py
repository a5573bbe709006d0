"""How long a mapped group takes, roughly: what ranks the candidates of a search, and is shown to nobody. Pure.

Cores, with the ways into and out of their L1, DRAM, the channels of the outermost DMA engines and the control processor
work side by side: the slowest counts most. Before them stands what the first block needs to be set up and to arrive,
behind them the last block's way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log2, prod

from npuflow.strategy.group import Group, MatmulOperand, Role, Tensor, Tiles
from npuflow.strategy.mapping import Mapping, calls
from npuflow.strategy.patterns import pattern_dims, steps_evenly
from npuflow.strategy.traffic import stays, traffic_bytes, visits
from npuflow.strategy.work_cycles import kind_of, work_cycles
from npuflow.target import Device
from npuflow.target.model import DmaEngine

# How sharply the slowest decides: the power of a norm over what works side by side, which rises with each doubling of
# how often something comes into L2, since pipelines that are long have time to even out; and powers at most where
# single slots let less overlap. These, and the shares below, bring estimates nearest to simulated times within each
# group, over 1360 strategies of 51 groups: layers of docs/networks.md on npu2, and matmuls on npu1 and npu2.
_POWER, _POWER_PER_DOUBLING = 2.55, 0.37
_SINGLE_POWERS = (inf, 2.5, 1.0)
# What comes into L1 shares its way with what is waited for, and takes so much longer.
_ARRIVAL_SHARE = 1.08
# Of the first block's way from DRAM, what isn't hidden behind setting up its other transfers.
_FIRST_SHARE = 0.85
# Setting up the first transfers takes somewhat longer than their descriptors; of all, some is hidden behind the last
# block's way out.
_START_SHARE, _SET_UP_SHARE = 1.08, 0.92
# Of DRAM's time, what a search counts although it is hidden: estimates don't tell times apart that are as near.
_MOVING_SHARE = 0.02
# Of setting up, what is waited for again where a tail's operand has a single slot, in which the last block's is.
_SINGLE_TAIL_SHARE = 0.1


@dataclass(frozen=True)
class Estimate:
    """Estimates for one group on one device."""

    group: Group
    device: Device
    _cycles: dict[tuple[int, ...], int] = field(default_factory=dict, compare=False)

    def seconds(self, mapping: Mapping) -> float:
        """How long the whole group takes, roughly."""
        return MappedTime(self, mapping).seconds()

    def cost(self, mapping: Mapping) -> float:
        """What a search makes small: the time, and a little of DRAM's, so that what moves less is best of equals."""
        mapped = MappedTime(self, mapping)
        return mapped.seconds() + _MOVING_SHARE * sum(mapped.dram_seconds.values())

    def work_share(self, mapping: Mapping) -> float:
        """How much of the time the cores and DRAM would take alone."""
        mapped = MappedTime(self, mapping)
        return max(mapped.core_seconds, sum(mapped.dram_seconds.values())) / mapped.seconds()

    def block_cycles(self, mapping: Mapping) -> int:
        """What a core computes for a block."""
        group, total = self.group, 0
        for number, work in enumerate(group.work):
            turns = calls(group, mapping) if any(loop in group.streamed for loop in work.loops) else 1
            total += turns * self.cycles(number, mapping.tiles, mapping.pack)
        return total

    def cycles(self, number: int, tiles: Tiles, pack: Sequence[int]) -> int:
        """What a core computes for one call of the work of that number, found once."""
        work = self.group.work[number]
        key = (number, *[tiles[loop] for loop in work.loops])
        if key not in self._cycles:
            self._cycles[key] = work_cycles(work, tiles, self.device, self.kind, pack)
        return self._cycles[key]

    @cached_property
    def kind(self) -> str:
        return kind_of(self.group, self.device)

    @cached_property
    def outermost(self) -> DmaEngine:
        """The DMA engines beside DRAM."""
        return self.device.dma(self.device.dram_level)


@dataclass(frozen=True)
class MappedTime:
    """A mapping, with what several parts of its estimate need."""

    of: Estimate
    mapping: Mapping

    @property
    def group(self) -> Group:
        return self.of.group

    @property
    def device(self) -> Device:
        return self.of.device

    @cached_property
    def moved(self) -> dict[str, int]:
        """What crosses between L3 and L2 for each tensor."""
        group, mapping, counts = self.group, self.mapping, self.counts
        return {
            t.name: traffic_bytes(group, mapping, t, self.in_l2[t.name], self._visits(t), counts) for t in self.outside
        }

    @cached_property
    def dram_seconds(self) -> dict[str, float]:
        """How long DRAM takes for each tensor."""
        return {tensor.name: self._dram_seconds(tensor) for tensor in self.outside}

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
    def in_l2(self) -> dict[str, Tiles]:
        """The tiles of what comes into L2 of each tensor at a time."""
        return {tensor.name: self.mapping.tiles_in_l2(self.group, tensor) for tensor in self.outside}

    @cached_property
    def by_rows(self) -> frozenset[str]:
        """The tensors that memory tiles have for rows of cores."""
        return frozenset(t.name for t in self.group.inputs if self.mapping.goes_by_rows(self.group, t))

    @cached_property
    def largest(self) -> str:
        """The input with the largest tile."""
        return max(self.group.inputs, key=lambda tensor: tensor.bytes(self.mapping.tiles)).name

    def seconds(self) -> float:
        group, device, memory = self.group, self.device, self.dram_seconds
        dram, control = sum(memory.values()), device.control.descriptor_seconds
        first = sum(memory[tensor.name] / self._visits(tensor) for tensor in group.inputs)
        last = sum(memory[tensor.name] / self.blocks for tensor in group.outputs)
        between = max(0.0, 1 - (first + last) / dram) if dram else 0.0
        at_first = max(_FIRST_SHARE * first, self._channel_seconds(group.inputs, self._visits))
        starting = _START_SHARE * control * sum(self._channels(tensor) for tensor in group.inputs)
        setting_up = control * sum(self.descriptors(tensor) for tensor in self.outside)
        waits = self.mapping.depths.tail == 1 and not self.mapping.tails_come_once(group)
        again = _SINGLE_TAIL_SHARE * setting_up if waits else 0.0
        behind = max(0.0, _SET_UP_SHARE * setting_up - starting - at_first)
        last = max(last, self._channel_seconds(group.outputs, lambda _: self.blocks))
        outer = max(dram, self._channel_seconds(self.outside, lambda _: 1))
        # What is in L2 of a matmul goes on once it is whole: behind the last of it stands its way through L1.
        late = 1 / max(self._visits(tensor) for tensor in group.inputs) if group.packed else 0.0
        core, arrival = self.core_seconds, self._arrival_seconds
        times = ((1 - late) * core, (1 - late) * arrival, between * outer, behind)
        often = sum(self._visits(tensor) for tensor in group.inputs)
        power = min(_POWER + _POWER_PER_DOUBLING * log2(max(1, often)), _SINGLE_POWERS[self._single])
        return starting + at_first + _together(times, power) + late * max(core, arrival) + again + last

    @property
    def _single(self) -> int:
        """Of the two ways in that are waited for, how many have single slots."""
        depths, packed = self.mapping.depths, self.group.packed
        ways = (
            [depths.of(operand) for operand in (MatmulOperand.LHS, MatmulOperand.RHS)]
            if packed
            else [(depths.l1,), (depths.l2,)]
        )
        return sum(min(slots) == 1 for slots in ways)

    @cached_property
    def core_seconds(self) -> float:
        """A core's time: computing, and between blocks waiting for a result that leaves alone while others arrive."""
        device, tiles = self.device, self.mapping.tiles
        compute, arrival = self.of.block_cycles(self.mapping) / device.clock_hz, self._arrival_seconds / self.blocks
        leaving = sum(tensor.bytes(tiles) for tensor in self.group.outputs) / self._l1_rate
        waiting = leaving if self.mapping.depths.result == 1 else max(0.0, leaving - max(compute, arrival))
        return self.blocks * compute + (self.blocks - 1) * waiting

    @cached_property
    def _arrival_seconds(self) -> float:
        """The way into L1."""
        return _ARRIVAL_SHARE * self._arrival_bytes() / self._l1_rate

    @property
    def _l1_rate(self) -> float:
        return self.device.dma(self.device.kernel_level).bytes_per_cycle * self.device.clock_hz

    def _visits(self, tensor: Tensor) -> int:
        """How often a tensor's part comes into L2."""
        return self._visited[tensor.name]

    @cached_property
    def _visited(self) -> dict[str, int]:
        order = self.mapping.order
        return {t.name: visits(self.group, t, self.in_l2[t.name], self.counts, order) for t in self.outside}

    def _dram_seconds(self, tensor: Tensor) -> float:
        dram, spread, tiles = self.device.dram, self.mapping.spread, self.in_l2[tensor.name]
        run = tensor.run_bytes(spread.block(tiles) if dram.joins_runs else spread.column(tiles))
        pitch = max(run, tensor.shape[-1] * tensor.element_bytes if tensor.shape else run)
        efficiency = dram.efficiency(run, write=tensor.role is Role.OUTPUT, pitch_bytes=pitch)
        return self.moved[tensor.name] / (dram.total_bytes_per_second * efficiency)

    def _channels(self, tensor: Tensor) -> int:
        """How many channels of the outermost DMA engines move a tensor; results leave through columns that have any."""
        spread = self.mapping.spread
        rows, columns = spread.grid
        if tensor.role is Role.INPUT:
            return rows if tensor.name in self.by_rows else columns
        if not tensor.follows(spread.columns):
            return 1
        part = spread.column(self.mapping.tiles)[spread.columns]
        return min(columns, -(-self.group.sizes[spread.columns] // part))

    def _channel_seconds(self, tensors: Iterable[Tensor], times: Callable[[Tensor], int]) -> float:
        """The busiest of the outermost channels, at one of so many times that something is moved.

        Those by rows, by columns and outward work side by side.
        """
        bytes_: dict[tuple[bool, Role], float] = {}
        for tensor in tensors:
            key = (tensor.name in self.by_rows, tensor.role)
            share = self.moved[tensor.name] / (times(tensor) * self._channels(tensor))
            bytes_[key] = bytes_.get(key, 0.0) + share
        return max(bytes_.values(), default=0.0) / (self.of.outermost.bytes_per_cycle * self.device.clock_hz)

    def descriptors(self, tensor: Tensor) -> int:
        """How many descriptors a tensor takes: none for inner loops that move it by equal steps and fit the pattern."""
        limits = self.of.outermost.pattern
        loops = self._loops_around(tensor)
        count, dims = (
            self._channels(tensor) * prod(turns for turns, _ in loops),
            pattern_dims(self.group, tensor, self._part(tensor), limits),
        )
        for turns, is_covered in loops:
            too_many = dims > limits.dims or (dims == limits.dims and turns > limits.iteration_max)
            if not is_covered or too_many:
                break
            dims += 1
            count //= turns
        return count

    def _loops_around(self, tensor: Tensor) -> list[tuple[int, bool]]:
        """Turns of the loops around a tensor's transfer, and whether a descriptor may cover them; innermost first."""
        group, block, tiles = self.group, self.mapping.block, self.in_l2[tensor.name]
        alike = group.inputs if tensor.role is Role.INPUT else group.outputs
        others = [other for other in alike if other is not tensor and self._share_channels(other, tensor)]
        found: list[tuple[int, bool]] = []
        cut_off, limits = group.cut_off[tensor.name], self.of.outermost.pattern
        if tensor.role is Role.INPUT and group.streams_through(tensor):
            is_alone = not any(group.streams_through(other) for other in others)
            for loop in reversed(group.streamed):
                if (turns := -(-group.sizes[loop] // tiles[loop])) > 1:
                    steps = is_alone and loop not in cut_off and steps_evenly(group, tensor, loop, tiles[loop], limits)
                    found.append((turns, steps))
        inner = list(reversed(self.mapping.order))
        for loop in inner if found else inner[stays(tensor, self.counts, self.mapping.order) :]:
            if self.counts[loop] > 1:
                steps = not others and loop not in cut_off and steps_evenly(group, tensor, loop, block[loop], limits)
                found.append((self.counts[loop], steps))
        return found

    def _share_channels(self, one: Tensor, other: Tensor) -> bool:
        """Whether two tensors go through the same channels: where nothing goes by rows, the largest has its own."""
        if one.role is Role.OUTPUT or self.by_rows:
            return (one.name in self.by_rows) == (other.name in self.by_rows)
        return (one.name == self.largest) == (other.name == self.largest)

    def _part(self, tensor: Tensor) -> Tiles:
        """The tiles of what one channel moves of a tensor for a block."""
        tiles = self.in_l2[tensor.name]
        return tiles if tensor.name in self.by_rows else self.mapping.spread.column(tiles)

    def _arrival_bytes(self) -> float:
        """What the busier of the two channels into L1 takes, one of which is for what goes by rows."""
        tiles, order = self.mapping.tiles, self.mapping.order
        by_rows, by_columns = [0], [0]
        for tensor in self.group.inputs:
            lane = by_rows if tensor.name in self.by_rows else by_columns
            lane.append(tensor.l1_bytes(tiles) * visits(self.group, tensor, tiles, self.counts, order))
        alone = max(sum(by_columns) / 2, *by_columns)
        return max(sum(by_rows), sum(by_columns)) if len(by_rows) > 1 else alone


def _together(times: Sequence[float], power: float) -> float:
    """About as long as the slowest takes, and longer where others take nearly that; with a power of 1, their sum."""
    slowest = max(times)
    return slowest * float(sum((time / slowest) ** power for time in times) ** (1 / power)) if slowest else 0.0
