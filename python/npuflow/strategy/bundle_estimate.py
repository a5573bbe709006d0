"""How long a mapped bundle takes, roughly: what ranks the candidates of `bundle_choose`, and is shown to nobody. Pure.

The cores, the way into L1, DRAM, its DMA channels and the control processor work side by side: the slowest counts
whole, the others in part. Before them stands what the first block waits for, behind them the last block's way out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from npuflow.strategy.bundle_shape import (
    BundleShape,
    BundleTensor,
    Depths,
    Role,
    Spread,
    Work,
    pieces,
    streams_through,
    traffic_bytes,
)
from npuflow.strategy.matrix_cycles import head_cycles, matrix_cycles
from npuflow.strategy.vector_cycles import vector_cycles
from npuflow.target import Device

_BOTH_SHARE = 0.2
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

    def counts(self, shape: BundleShape) -> list[int]:
        """How often each loop of the space steps from block to block."""
        return [-(-size // step) for size, step in zip(shape.sizes[: shape.space], self.block)]


def estimate(shape: BundleShape, candidate: Candidate, device: Device) -> float:
    """Seconds, roughly."""
    tiles, spread, clock = candidate.tiles, candidate.spread, device.clock_hz
    blocks, cut = prod(candidate.counts(shape)), pieces(shape, tiles)
    turns = [cut if any(loop in shape.streamed for loop in work.loops) else 1 for work in shape.work]
    compute = blocks * sum(turn * work_cycles(work, tiles, device) for turn, work in zip(turns, shape.work)) / clock
    arrival = blocks * cut * _arrival_cycles(shape, candidate, device) / clock
    moved = traffic_bytes(shape, tiles, spread, candidate.order)
    outside = [tensor for tensor in shape.tensors if tensor.role is not Role.LOCAL]
    memory = {tensor.name: _dram_seconds(tensor, moved[tensor.name], candidate, device) for tensor in outside}
    control = device.control.descriptor_seconds
    setting_up = control * sum(_descriptors(shape, tensor, candidate, device) for tensor in outside)
    times = (compute, arrival, sum(memory.values()), _channel_seconds(outside, moved, candidate, device), setting_up)
    first = sum(control * _channels(tensor, spread) for tensor in outside if tensor.role is Role.INPUT)
    block = sum(memory.values()) / blocks
    single = (candidate.depths.l1 == 1) + (candidate.depths.l2 == 1)
    rest = (_BOTH_SHARE + single / 2) * (sum(times) - max(times))
    return max(times) + rest + first + block


def _dram_seconds(tensor: BundleTensor, moved_bytes: int, candidate: Candidate, device: Device) -> float:
    joins = device.dram.joins_runs
    run = tensor.run_bytes(candidate.block if joins else candidate.spread.column(candidate.tiles))
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
    count, dims = _channels(tensor, candidate.spread) * prod(turns for turns, _ in loops), _dims(tensor, candidate)
    for turns, is_covered in loops:
        too_many = dims > limits.dims or (dims == limits.dims and turns > limits.iteration_max)
        if not is_covered or too_many:
            break
        dims += 1
        count //= turns
    return count


def _loops_around(shape: BundleShape, tensor: BundleTensor, candidate: Candidate) -> list[tuple[int, bool]]:
    """Turns of the loops around a tensor's transfer, and whether a descriptor may cover them; the innermost first."""
    counts, block = candidate.counts(shape), candidate.block
    alike = [other for other in shape.tensors if other is not tensor and other.role is tensor.role]
    others = [other for other in alike if _shares_channel(other, tensor, candidate)]
    found = []
    if tensor.role is Role.INPUT and streams_through(shape, tensor):
        is_alone = not any(streams_through(shape, other) for other in others)
        for loop in reversed(shape.streamed):
            turns = -(-shape.sizes[loop] // candidate.tiles[loop])
            steps = tensor.follows(loop) and shape.sizes[loop] % candidate.tiles[loop] == 0
            found.append((turns, is_alone and steps and not _is_padded(shape, tensor, loop)))
    for loop in reversed(candidate.order):
        steps = tensor.follows(loop) and shape.sizes[loop] % block[loop] == 0
        found.append((counts[loop], not others and steps and not _is_padded(shape, tensor, loop)))
    stays = _stays(tensor, candidate.order, counts) if not any(turns > 1 for turns, _ in found[: -len(counts)]) else 0
    return [one for one in found[stays:] if one[0] > 1]


def _stays(tensor: BundleTensor, order: Sequence[int], counts: Sequence[int]) -> int:
    """How many of the innermost loops a tensor stays in L2 for."""
    number = 0
    for loop in reversed(order):
        if counts[loop] > 1 and tensor.follows(loop):
            break
        number += 1
    return number


def _shares_channel(one: BundleTensor, other: BundleTensor, candidate: Candidate) -> bool:
    return _goes_by_rows(one, candidate.spread) == _goes_by_rows(other, candidate.spread)


def _is_padded(shape: BundleShape, tensor: BundleTensor, loop: int) -> bool:
    """Whether windows along a loop reach over the tensor's edge, where transfers are cut off."""
    return any(
        any(own == loop for own, _ in dim.terms) and dim.extent(shape.sizes) > size
        for dim, size in zip(tensor.dims, tensor.shape)
    )


def _dims(tensor: BundleTensor, candidate: Candidate) -> int:
    """Dimensions of a block's pattern in DRAM, neighbours that are whole as one."""
    block = candidate.block
    dims, is_whole = 1, True
    for dim, size in zip(reversed(tensor.dims), reversed(tensor.shape)):
        extent = dim.extent(block)
        dims += extent > 1 and not is_whole
        is_whole = extent >= size and is_whole
    return dims


def _arrival_cycles(shape: BundleShape, candidate: Candidate, device: Device) -> float:
    """A tile's way into L1 over two channels, or out over one."""
    inward = [t.l1_bytes(candidate.tiles) for t in shape.tensors if t.role is Role.INPUT and _moves(shape, t)]
    outward = [t.bytes(candidate.tiles) for t in shape.tensors if t.role is Role.OUTPUT]
    lanes = max(sum(inward) / 2, max(inward, default=0))
    return max(lanes, sum(outward) / pieces(shape, candidate.tiles)) / device.dma(1).bytes_per_cycle


def _moves(shape: BundleShape, tensor: BundleTensor) -> bool:
    return streams_through(shape, tensor) or any(tensor.follows(loop) for loop in range(shape.space))


def work_cycles(work: Work, tiles: Sequence[int], device: Device) -> float:
    """One op on one tile: matrix instructions for sums of products whose types have them, else vector operations."""
    own = [tiles[loop] for loop in work.loops]
    products = work.products
    if products is None or not device.has_instruction(products.types):
        return vector_cycles(work.vector, own, device)
    instruction = device.matmul_shapes(*products.types)[0]
    sums = prod(own[loop] for run, is_sum in zip(work.vector.runs, work.vector.sums) if not is_sum for loop in run)
    issue = matrix_cycles(products.types, products.issued(own, instruction), sums * _ACC_BYTES, device)
    return issue + head_cycles(products, own, device)
