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
    pieces,
    streams_through,
    trips,
)
from npuflow.strategy.bundle_traffic import traffic_bytes, visits
from npuflow.strategy.matrix_cycles import head_cycles, made_as, matrix_cycles
from npuflow.strategy.vector_cycles import vector_cycles
from npuflow.target import Device

# By how many of the two levels have single slots: the powers that bring estimates nearest to simulated times, over 126
# strategies of 8 convolutions.
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
    tiles, spread, clock = candidate.tiles, candidate.spread, device.clock_hz
    blocks, cut = prod(candidate.counts(shape)), pieces(shape, tiles)
    turns = [cut if any(loop in shape.streamed for loop in work.loops) else 1 for work in shape.work]
    kind = kind_of(shape, device)
    cycles = sum(turn * work_cycles(work, tiles, device, kind) for turn, work in zip(turns, shape.work))
    compute = blocks * cycles / clock
    arrival = _arrival_cycles(shape, candidate, device) / clock
    moved = traffic_bytes(shape, tiles, spread, candidate.order, candidate.depths)
    outside = [tensor for tensor in shape.tensors if tensor.role is not Role.LOCAL]
    memory = {tensor.name: _dram_seconds(shape, tensor, moved[tensor.name], candidate, device) for tensor in outside}
    inward = [tensor for tensor in outside if tensor.role is Role.INPUT]
    first = sum(memory[tensor.name] / _turns(shape, tensor, candidate) for tensor in inward)
    last = sum(memory[tensor.name] / blocks for tensor in outside if tensor.role is Role.OUTPUT)
    total = sum(memory.values())
    between = max(0.0, 1 - (first + last) / total) if total else 0.0
    control = device.control.descriptor_seconds
    starting = control * sum(_channels(tensor, spread) for tensor in inward)
    setting_up = control * sum(_descriptors(shape, tensor, candidate, device) for tensor in outside) - starting
    channels = _channel_seconds(outside, moved, candidate, device)
    times = (compute, arrival, between * total, between * channels, max(0.0, setting_up - first))
    single = (candidate.depths.l1 == 1) + (candidate.depths.l2 == 1)
    return starting + first + _together(times, single) + last


def _together(times: Sequence[float], single: int) -> float:
    """How long takes what is done side by side: about as long as the slowest, and longer where others take nearly that.

    Where operands have a single slot in L1 or L2, there is less overlap, and where they have in both, none.
    """
    power = _POWERS[single]
    return sum(time**power for time in times) ** (1 / power)


def _turns(shape: BundleShape, tensor: BundleTensor, candidate: Candidate) -> int:
    """How often a tensor's part comes into L2."""
    return visits(shape, tensor, candidate.in_l2(shape, tensor), candidate.counts(shape), candidate.order)


def _dram_seconds(
    shape: BundleShape, tensor: BundleTensor, moved_bytes: int, candidate: Candidate, device: Device
) -> float:
    tiles, spread = candidate.in_l2(shape, tensor), candidate.spread
    run = tensor.run_bytes(spread.block(tiles) if device.dram.joins_runs else spread.column(tiles))
    pitch = max(run, tensor.shape[-1] * tensor.element_bytes if tensor.shape else run)
    efficiency = device.dram.efficiency(run, write=tensor.role is Role.OUTPUT, pitch_bytes=pitch)
    return moved_bytes / (device.dram.total_bytes_per_second * efficiency)


def _goes_by_rows(tensor: BundleTensor, spread: Spread) -> bool:
    follows = tensor.follows(spread.rows) and not tensor.follows(spread.columns)
    return tensor.role is Role.INPUT and follows


def _channels(tensor: BundleTensor, spread: Spread) -> int:
    """How many channels of the outermost DMA engines move a tensor."""
    return spread.grid[0] if _goes_by_rows(tensor, spread) else spread.grid[1]


def _channel_seconds(
    tensors: Sequence[BundleTensor], moved: Mapping[str, int], candidate: Candidate, device: Device
) -> float:
    """The busiest channels of the outermost DMA engines; those by rows, by columns and outward work side by side."""
    seconds: dict[tuple[bool, Role], float] = {}
    for tensor in tensors:
        key = (_goes_by_rows(tensor, candidate.spread), tensor.role)
        share = moved[tensor.name] / _channels(tensor, candidate.spread)
        seconds[key] = seconds.get(key, 0.0) + share
    return max(seconds.values()) / (
        device.dma(max(level.number for level in device.levels)).bytes_per_cycle * device.clock_hz
    )


def _descriptors(shape: BundleShape, tensor: BundleTensor, candidate: Candidate, device: Device) -> int:
    """How many descriptors a tensor takes: inner loops need none that move it by equal steps and fit the pattern."""
    limits = device.dma(max(level.number for level in device.levels)).pattern
    loops = _loops_around(shape, tensor, candidate)
    count, dims = (
        _channels(tensor, candidate.spread) * prod(turns for turns, _ in loops),
        _dims(shape, tensor, candidate),
    )
    for turns, is_covered in loops:
        too_many = dims > limits.dims or (dims == limits.dims and turns > limits.iteration_max)
        if not is_covered or too_many:
            break
        dims += 1
        count //= turns
    return count


def _loops_around(shape: BundleShape, tensor: BundleTensor, candidate: Candidate) -> list[tuple[int, bool]]:
    """Turns of the loops around a tensor's transfer, and whether a descriptor may cover them; the innermost first."""
    counts, block, tiles = candidate.counts(shape), candidate.block, candidate.in_l2(shape, tensor)
    alike = [other for other in shape.tensors if other is not tensor and other.role is tensor.role]
    others = [other for other in alike if _shares_channel(shape, other, tensor, candidate)]
    found = []
    if tensor.role is Role.INPUT and streams_through(shape, tensor):
        is_alone = not any(streams_through(shape, other) for other in others)
        for loop in reversed(shape.streamed):
            turns = -(-shape.sizes[loop] // tiles[loop])
            steps = tensor.follows(loop) and shape.sizes[loop] % tiles[loop] == 0
            found.append((turns, is_alone and steps and not _is_padded(shape, tensor, loop)))
    is_cut = any(turns > 1 for turns, _ in found)
    inner = list(reversed(candidate.order))
    for loop in inner if is_cut else inner[_stays(tensor, candidate.order, counts) :]:
        steps = tensor.follows(loop) and shape.sizes[loop] % block[loop] == 0
        found.append((counts[loop], not others and steps and not _is_padded(shape, tensor, loop)))
    return [one for one in found if one[0] > 1]


def _stays(tensor: BundleTensor, order: Sequence[int], counts: Sequence[int]) -> int:
    """How many of the innermost loops a tensor stays in L2 for."""
    number = 0
    for loop in reversed(order):
        if counts[loop] > 1 and tensor.follows(loop):
            break
        number += 1
    return number


def _shares_channel(shape: BundleShape, one: BundleTensor, other: BundleTensor, candidate: Candidate) -> bool:
    """Whether two tensors go through the same channels: where nothing goes by rows, the largest has its own."""
    inputs = [tensor for tensor in shape.tensors if tensor.role is Role.INPUT]
    if one.role is Role.OUTPUT or any(_goes_by_rows(tensor, candidate.spread) for tensor in inputs):
        return _goes_by_rows(one, candidate.spread) == _goes_by_rows(other, candidate.spread)
    largest = max(inputs, key=lambda tensor: tensor.bytes(candidate.tiles))
    return (one is largest) == (other is largest)


def _is_padded(shape: BundleShape, tensor: BundleTensor, loop: int) -> bool:
    """Whether windows along a loop reach over the tensor's edge, where transfers are cut off."""
    return any(
        any(own == loop for own, _ in dim.terms) and dim.extent(shape.sizes) > size
        for dim, size in zip(tensor.dims, tensor.shape)
    )


def _dims(shape: BundleShape, tensor: BundleTensor, candidate: Candidate) -> int:
    """Dimensions of the pattern in DRAM of what a channel moves for a block; whole ones go on in the next.

    Where windows reach over an edge in some places and not in others, the sizes differ, and nothing goes on.
    """
    tiles, spread = candidate.in_l2(shape, tensor), candidate.spread
    part = tiles if _goes_by_rows(tensor, spread) else spread.column(tiles)
    dims, is_whole = 1, True
    for dim, size in zip(reversed(tensor.dims), reversed(tensor.shape)):
        extent, all_ = dim.extent(part), dim.extent(shape.sizes)
        is_cut = all_ > max(size, extent)
        dims += extent > 1 and (is_cut or not is_whole)
        is_whole = extent >= size and not is_cut
    return dims


def _arrival_cycles(shape: BundleShape, candidate: Candidate, device: Device) -> float:
    """The way into L1 over two channels, one of which is for what goes by rows, or out over one."""
    tiles, order, counts = candidate.tiles, candidate.order, candidate.counts(shape)
    by_rows, by_columns = [0], [0]
    for tensor in shape.tensors:
        if tensor.role is Role.INPUT:
            lane = by_rows if _goes_by_rows(tensor, candidate.spread) else by_columns
            lane.append(tensor.l1_bytes(tiles) * visits(shape, tensor, tiles, counts, order))
    alone = max(sum(by_columns) / 2, *by_columns)
    inward = max(sum(by_rows), sum(by_columns)) if len(by_rows) > 1 else alone
    outward = prod(counts) * sum(t.bytes(tiles) for t in shape.tensors if t.role is Role.OUTPUT)
    return max(inward, outward) / device.dma(1).bytes_per_cycle


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
