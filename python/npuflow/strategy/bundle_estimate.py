"""How long a mapped bundle takes, roughly: what ranks the candidates of `bundle_choose`, and is shown to nobody. Pure.

The cores, the way into L1, DRAM, its DMA channels and the control processor work side by side: the slowest counts
most. Before them stands what the first block waits for, behind them the last block's way out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from npuflow.strategy.bundle_room import tiles_in_l2
from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
    Tiles,
    Work,
    goes_by_rows,
    pieces,
    streams_through,
    trips,
)
from npuflow.strategy.bundle_traffic import traffic_bytes, visits
from npuflow.strategy.matrix_cycles import head_cycles, made_as, matrix_cycles
from npuflow.strategy.overlap import together
from npuflow.strategy.vector_cycles import vector_cycles
from npuflow.target import Device
from npuflow.target.model import DmaEngine

# By how many of the two levels have single slots, and so less overlap: the powers that bring estimates nearest to
# simulated times, over 126 strategies of 8 convolutions.
_POWERS = (4.0, 2.5, 1.0)
_ACC_BYTES = 4  # sums of all types that matrix instructions take are this wide or narrower


@dataclass(frozen=True)
class Candidate:
    """How a bundle might be mapped."""

    tiles: tuple[int, ...]
    spread: Spread
    depths: Depths
    order: tuple[int, ...]

    @cached_property
    def block(self) -> list[int]:
        """The tiles of a whole block."""
        return self.spread.block(self.tiles)

    def with_tile(self, loop: int, size: int) -> Candidate:
        """The same with another tile of one loop."""
        return replace(self, tiles=(*self.tiles[:loop], size, *self.tiles[loop + 1 :]))

    def in_l2(self, shape: BundleShape, tensor: BundleTensor) -> Tiles:
        """The tiles of what comes into L2 of a tensor at a time."""
        return tiles_in_l2(shape, tensor, self.tiles, self.spread, self.order, self.depths)

    def counts(self, shape: BundleShape) -> list[int]:
        """How often each loop of the space steps from block to block."""
        return trips(shape, self.tiles, self.spread)


def estimate(shape: BundleShape, candidate: Candidate, device: Device) -> float:
    """Seconds, roughly."""
    return _Mapped(shape, candidate, device).seconds()


@dataclass(frozen=True)
class _Mapped:
    """A candidate on a device, with what several parts of its estimate need."""

    shape: BundleShape
    candidate: Candidate
    device: Device

    @cached_property
    def counts(self) -> list[int]:
        """How often each loop of the space steps from block to block."""
        return self.candidate.counts(self.shape)

    @cached_property
    def inputs(self) -> list[BundleTensor]:
        return [tensor for tensor in self.shape.tensors if tensor.role is Role.INPUT]

    @cached_property
    def outputs(self) -> list[BundleTensor]:
        return [tensor for tensor in self.shape.tensors if tensor.role is Role.OUTPUT]

    @cached_property
    def in_l2(self) -> dict[str, Tiles]:
        """The tiles of what comes into L2 of each tensor at a time."""
        return {t.name: self.candidate.in_l2(self.shape, t) for t in (*self.inputs, *self.outputs)}

    @cached_property
    def by_rows(self) -> frozenset[str]:
        """The tensors that memory tiles have for rows of cores."""
        return frozenset(t.name for t in self.inputs if goes_by_rows(self.shape, t, self.candidate.spread))

    @cached_property
    def largest(self) -> str:
        """The input with the largest tile."""
        return max(self.inputs, key=lambda tensor: tensor.bytes(self.candidate.tiles)).name

    def seconds(self) -> float:
        shape, candidate, device = self.shape, self.candidate, self.device
        tiles, spread, clock = candidate.tiles, candidate.spread, device.clock_hz
        blocks, cut = prod(self.counts), pieces(shape, tiles)
        turns = [cut if any(loop in shape.streamed for loop in work.loops) else 1 for work in shape.work]
        kind = kind_of(shape, device)
        cycles = sum(turn * work_cycles(work, tiles, device, kind) for turn, work in zip(turns, shape.work))
        compute = blocks * cycles / clock
        moved = traffic_bytes(shape, tiles, spread, candidate.order, candidate.depths)
        outside = [*self.inputs, *self.outputs]
        memory = {tensor.name: self._dram_seconds(tensor, moved[tensor.name]) for tensor in outside}
        first = sum(memory[tensor.name] / self._visits(tensor) for tensor in self.inputs)
        last = sum(memory[tensor.name] / blocks for tensor in self.outputs)
        total = sum(memory.values())
        between = max(0.0, 1 - (first + last) / total) if total else 0.0
        control = device.control.descriptor_seconds
        starting = control * sum(self._channels(tensor) for tensor in self.inputs)
        setting_up = control * sum(self._descriptors(tensor) for tensor in outside) - starting
        arrival, channels = self._arrival_cycles() / clock, self._channel_seconds(moved)
        times = (compute, arrival, between * total, between * channels, max(0.0, setting_up - first))
        single = (candidate.depths.l1 == 1) + (candidate.depths.l2 == 1)
        return starting + first + together(times, _POWERS[single]) + last

    def _visits(self, tensor: BundleTensor) -> int:
        """How often a tensor's part comes into L2."""
        return visits(self.shape, tensor, self.in_l2[tensor.name], self.counts, self.candidate.order)

    def _dram_seconds(self, tensor: BundleTensor, moved_bytes: int) -> float:
        dram, spread, tiles = self.device.dram, self.candidate.spread, self.in_l2[tensor.name]
        run = tensor.run_bytes(spread.block(tiles) if dram.joins_runs else spread.column(tiles))
        pitch = max(run, tensor.shape[-1] * tensor.element_bytes if tensor.shape else run)
        efficiency = dram.efficiency(run, write=tensor.role is Role.OUTPUT, pitch_bytes=pitch)
        return moved_bytes / (dram.total_bytes_per_second * efficiency)

    def _channels(self, tensor: BundleTensor) -> int:
        """How many channels of the outermost DMA engines move a tensor."""
        return self.candidate.spread.grid[0 if tensor.name in self.by_rows else 1]

    def _channel_seconds(self, moved: Mapping[str, int]) -> float:
        """The busiest of the outermost channels; those by rows, by columns and outward work side by side."""
        seconds: dict[tuple[bool, Role], float] = {}
        for tensor in (*self.inputs, *self.outputs):
            key = (tensor.name in self.by_rows, tensor.role)
            seconds[key] = seconds.get(key, 0.0) + moved[tensor.name] / self._channels(tensor)
        return max(seconds.values()) / (self._outermost.bytes_per_cycle * self.device.clock_hz)

    @property
    def _outermost(self) -> DmaEngine:
        return self.device.dma(max(level.number for level in self.device.levels))

    def _descriptors(self, tensor: BundleTensor) -> int:
        """How many descriptors a tensor takes: none for inner loops that move it by equal steps and fit the pattern."""
        limits = self._outermost.pattern
        loops = self._loops_around(tensor)
        count, dims = self._channels(tensor) * prod(turns for turns, _ in loops), self._dims(tensor)
        for turns, is_covered in loops:
            too_many = dims > limits.dims or (dims == limits.dims and turns > limits.iteration_max)
            if not is_covered or too_many:
                break
            dims += 1
            count //= turns
        return count

    def _loops_around(self, tensor: BundleTensor) -> list[tuple[int, bool]]:
        """Turns of the loops around a tensor's transfer, and whether a descriptor may cover them; innermost first."""
        shape, block, tiles = self.shape, self.candidate.block, self.in_l2[tensor.name]
        alike = self.inputs if tensor.role is Role.INPUT else self.outputs
        others = [other for other in alike if other is not tensor and self._share_channels(other, tensor)]
        found, cut_off = [], shape.cut_off[tensor.name]
        if tensor.role is Role.INPUT and streams_through(shape, tensor):
            is_alone = not any(streams_through(shape, other) for other in others)
            for loop in reversed(shape.streamed):
                turns = -(-shape.sizes[loop] // tiles[loop])
                steps = tensor.follows(loop) and shape.sizes[loop] % tiles[loop] == 0
                found.append((turns, is_alone and steps and loop not in cut_off))
        is_cut = any(turns > 1 for turns, _ in found)
        inner = list(reversed(self.candidate.order))
        for loop in inner if is_cut else inner[_stays(tensor, self.candidate.order, self.counts) :]:
            steps = tensor.follows(loop) and shape.sizes[loop] % block[loop] == 0
            found.append((self.counts[loop], not others and steps and loop not in cut_off))
        return [one for one in found if one[0] > 1]

    def _share_channels(self, one: BundleTensor, other: BundleTensor) -> bool:
        """Whether two tensors go through the same channels: where nothing goes by rows, the largest has its own."""
        if one.role is Role.OUTPUT or self.by_rows:
            return (one.name in self.by_rows) == (other.name in self.by_rows)
        return (one.name == self.largest) == (other.name == self.largest)

    def _dims(self, tensor: BundleTensor) -> int:
        """Dimensions of the pattern in DRAM of what a channel moves for a block; whole ones go on in the next.

        Where windows reach over an edge in some places and not in others, the sizes differ, and nothing goes on.
        """
        tiles = self.in_l2[tensor.name]
        part = tiles if tensor.name in self.by_rows else self.candidate.spread.column(tiles)
        dims, is_whole = 1, True
        for dim, size in zip(reversed(tensor.dims), reversed(tensor.shape)):
            extent, all_ = dim.extent(part), dim.extent(self.shape.sizes)
            is_cut = all_ > max(size, extent)
            dims += extent > 1 and (is_cut or not is_whole)
            is_whole = extent >= size and not is_cut
        return dims

    def _arrival_cycles(self) -> float:
        """The way into L1 over two channels, one of which is for what goes by rows, or out over one."""
        tiles, order = self.candidate.tiles, self.candidate.order
        by_rows, by_columns = [0], [0]
        for tensor in self.inputs:
            lane = by_rows if tensor.name in self.by_rows else by_columns
            lane.append(tensor.l1_bytes(tiles) * visits(self.shape, tensor, tiles, self.counts, order))
        alone = max(sum(by_columns) / 2, *by_columns)
        inward = max(sum(by_rows), sum(by_columns)) if len(by_rows) > 1 else alone
        outward = prod(self.counts) * sum(tensor.bytes(tiles) for tensor in self.outputs)
        return max(inward, outward) / self.device.dma(1).bytes_per_cycle


def _stays(tensor: BundleTensor, order: Sequence[int], counts: Sequence[int]) -> int:
    """How many of the innermost loops a tensor stays in L2 for."""
    number = 0
    for loop in reversed(order):
        if counts[loop] > 1 and tensor.follows(loop):
            break
        number += 1
    return number


def kind_of(shape: BundleShape, device: Device) -> str:
    """How the kernels of a bundle are made: all of them as one with matrix instructions, if there is any."""
    types = (
        work.products.types for work in shape.work if work.products and device.has_instruction(work.products.types)
    )
    return made_as(next(types, None), device)


def work_cycles(work: Work, tiles: Sequence[int], device: Device, kind: str = "") -> float:
    """One op on one tile: matrix instructions for sums of products whose types have them, else vector operations."""
    own = [tiles[loop] for loop in work.loops]
    products = work.products
    if products is None or not device.has_instruction(products.types):
        return vector_cycles(work.vector, own, device, kind)
    instruction = device.matmul_shapes(*products.types)[0]
    sums = prod(own[loop] for run, is_sum in zip(work.vector.runs, work.vector.sums) if not is_sum for loop in run)
    issued = products.issued(own, instruction, device.engines[0].vector_bytes)
    return matrix_cycles(products.types, issued, sums * _ACC_BYTES, device, kind) + head_cycles(products, own, device)
