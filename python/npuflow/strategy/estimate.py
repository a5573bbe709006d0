"""How long a mapped group takes, roughly: what ranks the candidates of a search. Pure.

Cores, with the ways into and out of their L1, DRAM, the channels of the outermost DMA engines and the control processor
work side by side: the slowest counts most. Before them stands what the first block needs to be set up and to arrive,
behind them the last block's way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log2

from npuflow.strategy.group import Group, MatmulOperand, Tensor, Tiles
from npuflow.strategy.mapping import Mapping, calls
from npuflow.strategy.outer_transfers import OuterTransfers
from npuflow.strategy.traffic import visits
from npuflow.strategy.work_cycles import kind_of, multiplies, work_cycles
from npuflow.target import Device

# How sharply the slowest decides: the power of a norm over what works side by side, which rises with each doubling of
# how often something comes into L2, since pipelines that are long have time to even out; and powers at most where
# single slots let less overlap. These, and the shares below, bring estimates nearest to simulated times within each
# group: the powers over 900 strategies of 78 groups (layers, operators and published matmuls on npu1, npu2 and toy),
# the others over 884 of 75 (layers of docs/networks.md, and sums of products over two loops).
_POWER, _POWER_PER_DOUBLING = 3.0, 0.6
_SINGLE_POWERS = (inf, 2.5, 1.0)
# What comes into L1 shares its way with what is waited for, and takes so much longer.
_ARRIVAL_SHARE = 1.08
# Blocks that are computed before any result has left, for each slot that results have.
_AHEAD = 2
# What cores lose while DRAM is busy with what comes seldom, for all that others need of it.
_STARVED_SHARE = 1.9
# Of DRAM's time, what a search counts although it is hidden: estimates don't tell times apart that are as near.
_MOVING_SHARE = 0.02
# Of setting up, what is waited for again where a tail's operand has a single slot, in which the last block's is.
_SINGLE_TAIL_SHARE = 0.14


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
        return mapped.seconds() + _MOVING_SHARE * mapped.outer.busy_dram_seconds

    def work_share(self, mapping: Mapping) -> float:
        """How much of the time the cores and DRAM would take alone."""
        mapped = MappedTime(self, mapping)
        return max(mapped.core_seconds, mapped.outer.busy_dram_seconds) / mapped.seconds()

    def block_cycles(self, mapping: Mapping) -> int:
        """What a core computes for a block, as long as its slower engine takes where there are several side by side."""
        totals = self._engine_cycles(mapping)
        return max(totals) if mapping.depths.between > 1 else sum(totals)

    def uncovered_cycles(self, mapping: Mapping) -> int:
        """What the faster engine computes while the slower one has nothing to do: before or behind all blocks."""
        return sum(self._engine_cycles(mapping)) - self.block_cycles(mapping)

    def _engine_cycles(self, mapping: Mapping) -> tuple[int, int]:
        """What a core computes for a block: sums of products, and all else."""
        group, products, others = self.group, 0, 0
        for number, work in enumerate(group.work):
            turns = calls(group, mapping) if work.pieced else 1
            cycles = turns * self.cycles(number, mapping.tiles, mapping.pack)
            products, others = (
                (products + cycles, others) if multiplies(work, self.device) else (products, others + cycles)
            )
        return products, others

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
    def outer(self) -> OuterTransfers:
        """What moves between DRAM and L2."""
        return OuterTransfers(self.group, self.device, self.mapping)

    def seconds(self) -> float:
        first, last = self._first_seconds, self._last_seconds
        starting = self._set_up_seconds(self.set_up_first)
        work = self._work_seconds(starting + first)
        # Until the first results can leave, no more blocks are computed than there are slots for.
        held_back = self._set_up_seconds(self.outer.outside) - starting - first
        ahead = min(1.0, _AHEAD * self.mapping.depths.result / self.outer.blocks)
        waits = self.mapping.depths.tail == 1 and not self.mapping.tails_come_once(self.group)
        again = _SINGLE_TAIL_SHARE * self.setting_up_seconds if waits else 0.0
        return starting + first + max(work, held_back + (1 - ahead) * work) + again + last

    def _work_seconds(self, before: float) -> float:
        """What works side by side, once the first block is there."""
        outer, core, arrival, often = self.outer, self.core_seconds, self._arrival_seconds, self._most_visits
        dram, (first, last) = outer.busy_dram_seconds, self._ends
        between = max(0.0, 1 - (first + last) / dram) if dram else 0.0
        moving = between * max(dram, outer.channel_seconds(outer.outside, lambda _: 1))
        # The last block is set up behind all others, its operands before its results.
        behind = max(self._last_set_up_seconds + first + core / often, self.setting_up_seconds) - before
        # What is in L2 of a matmul goes on once it is whole: behind the last of it stands its way through L1.
        late = 1 / often if self.group.packed else 0.0
        times = ((1 - late) * core + self._starved_seconds, (1 - late) * arrival, moving)
        visits = sum(outer.visits(tensor) for tensor in self.group.inputs)
        power = min(_POWER + _POWER_PER_DOUBLING * log2(max(1, visits)), _SINGLE_POWERS[self._single])
        return max(_together(times, power) + late * max(core, arrival), behind)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """What DRAM takes for what the first block needs, and for what the last one makes."""
        outer, group = self.outer, self.group
        first = sum(outer.dram_seconds[tensor.name] / outer.visits(tensor) for tensor in group.inputs)
        return first, sum(outer.dram_seconds[tensor.name] / outer.blocks for tensor in group.outputs)

    @property
    def _first_seconds(self) -> float:
        """How long the first block takes to arrive."""
        return max(self._ends[0], self.outer.channel_seconds(self.group.inputs, self.outer.visits))

    @property
    def _last_seconds(self) -> float:
        """How long the last block takes to leave."""
        return max(self._ends[1], self.outer.channel_seconds(self.group.outputs, lambda _: self.outer.blocks))

    def _set_up_seconds(self, tensors: Iterable[Tensor]) -> float:
        """How long work waits for a transfer of each of these to be set up in every channel."""
        each = self.device.control.descriptor_seconds
        return each * sum(self.outer.channels(tensor) for tensor in tensors)

    @cached_property
    def setting_up_seconds(self) -> float:
        """What setting up takes in all."""
        outer = self.outer
        return self.device.control.descriptor_seconds * sum(outer.descriptors(tensor) for tensor in outer.outside)

    @property
    def _last_set_up_seconds(self) -> float:
        """When the last operand's transfer is set up: results that are set up block by block come behind that."""
        outer, (inputs, outputs) = self.outer, (self.group.inputs, self.group.outputs)
        is_turned = any(outer.set_up_loops(tensor) for tensor in inputs)
        later = [tensor for tensor in outputs if outer.set_up_loops(tensor) or not is_turned]
        each = self.device.control.descriptor_seconds
        return self.setting_up_seconds - each * sum(map(outer.channels, later))

    @property
    def set_up_first(self) -> list[Tensor]:
        """What is set up in front of the first block: what its first op reads, and what a descriptor covers more of.

        Operands of which a descriptor covers all loops stand in front of those that are set up in a loop.
        """
        outer, inputs = self.outer, self.group.inputs
        op = min((tensor.user for tensor in inputs), default=0)
        first = [tensor for tensor in inputs if tensor.user == op]
        loops = max((len(outer.set_up_loops(tensor)) for tensor in first), default=0)
        return [*first, *(t for t in inputs if t not in first and len(outer.set_up_loops(t)) < loops)]

    @cached_property
    def _most_visits(self) -> int:
        return max((self.outer.visits(tensor) for tensor in self.group.inputs), default=1)

    @property
    def _starved_seconds(self) -> float:
        """How long cores wait for what comes often, while what comes seldom, and much at a time, takes DRAM's time."""
        outer, inputs, most = self.outer, self.group.inputs, self._most_visits
        seconds, shares = outer.dram_seconds, {tensor.name: outer.visits(tensor) / most for tensor in inputs}
        often = sum(seconds[name] for name, share in shares.items() if share == 1)
        seldom = sum(seconds[t.name] * (1 - 1 / outer.visits(t)) * (1 - shares[t.name]) for t in inputs)
        return _STARVED_SHARE * seldom * min(1.0, max(0.0, 2 - self.core_seconds / often)) if often else 0.0

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
        blocks = self.outer.blocks
        compute, arrival = self.of.block_cycles(self.mapping) / device.clock_hz, self._arrival_seconds / blocks
        leaving = sum(tensor.bytes(tiles) for tensor in self.group.outputs) / self._l1_rate
        waiting = leaving if self.mapping.depths.result == 1 else max(0.0, leaving - max(compute, arrival))
        uncovered = self.of.uncovered_cycles(self.mapping) / device.clock_hz
        return blocks * compute + uncovered + (blocks - 1) * waiting

    @cached_property
    def _arrival_seconds(self) -> float:
        """The way into L1."""
        return _ARRIVAL_SHARE * self._arrival_bytes() / self._l1_rate

    @property
    def _l1_rate(self) -> float:
        return self.device.dma(self.device.kernel_level).bytes_per_cycle * self.device.clock_hz

    def _arrival_bytes(self) -> float:
        """What the busier of the two channels into L1 takes, one of which is for what goes by rows."""
        tiles, order = self.mapping.tiles, self.mapping.order
        by_rows, by_columns = [0], [0]
        for tensor in self.group.inputs:
            lane = by_rows if tensor.name in self.outer.by_rows else by_columns
            lane.append(tensor.l1_bytes(tiles) * visits(self.group, tensor, tiles, self.outer.counts, order))
        alone = max(sum(by_columns) / 2, *by_columns)
        return max(sum(by_rows), sum(by_columns)) if len(by_rows) > 1 else alone


def _together(times: Sequence[float], power: float) -> float:
    """About as long as the slowest takes, and longer where others take nearly that; with a power of 1, their sum."""
    slowest = max(times)
    return slowest * float(sum((time / slowest) ** power for time in times) ** (1 / power)) if slowest else 0.0
