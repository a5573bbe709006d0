"""How long a mapped matmul takes, roughly: what ranks the candidates of `choose`, and is shown to nobody. Pure.

Cores, DRAM, the channels of the outermost DMA engines and the control processor work side by side (`overlap`). Before
them stands what the first block needs to be set up and to arrive, behind them the way of the last block's result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from npuflow.ops.products import padded
from npuflow.strategy.footprint import Problem, l3_traffic_bytes
from npuflow.strategy.matrix_cycles import made_as, matrix_cycles
from npuflow.strategy.overlap import together
from npuflow.strategy.strategy import Strategy
from npuflow.strategy.vector_cycles import VectorOperand, VectorWork, vector_cycles
from npuflow.target import Device

_BOTH_SHARE = 0.2
# By how many operands have a single slot somewhere, and so less overlap.
_POWERS = (6.0, 2.5, 1.0)


@dataclass(frozen=True)
class _Stream:
    """What a tensor moves between L3 and L2.

    `block_bytes` per turn of all loops, in runs that begin `pitch_bytes` apart; `loops` are (turns, whether the place
    moves with them, whether every turn moves as much), the innermost first. `channels` DMA channels share it; where it
    `is_shared`, these carry something else outside of the innermost loop. Runs of so many channels adjoin (`joined`).
    """

    block_bytes: float
    run_bytes: int
    pitch_bytes: int
    loops: Sequence[tuple[int, bool, bool]]
    channels: int
    is_result: bool = False
    is_shared: bool = False
    joined: int = 1

    def turns(self) -> int:
        return prod(turns for turns, _, _ in self.loops)

    def seconds(self, device: Device) -> float:
        """At the rate of DRAM."""
        run = self.run_bytes * (self.joined if device.dram.joins_runs else 1)
        if self.run_bytes >= self.pitch_bytes:
            run = max(run, int(self.block_bytes / self.channels))
        efficiency = device.dram.efficiency(run, write=self.is_result, pitch_bytes=max(run, self.pitch_bytes))
        return self.turns() * self.block_bytes / (device.dram.total_bytes_per_second * efficiency)

    def channel_seconds(self, device: Device) -> float:
        outermost = max(level.number for level in device.levels)
        rate = device.dma(outermost).bytes_per_cycle * device.clock_hz
        return self.turns() * self.block_bytes / (self.channels * rate)

    def descriptors(self, device: Device) -> int:
        """How many the control processor sets up: inner loops that a descriptor's pattern covers need none."""
        limits = device.dma(max(level.number for level in device.levels)).pattern
        count, dims = self.turns() * self.channels, 2
        for place, (turns, moves, is_whole) in enumerate(self.loops):
            if turns == 1:
                continue
            too_many = dims > limits.dims or (dims == limits.dims and turns > limits.iteration_max)
            if not moves or not is_whole or too_many or (self.is_shared and place > 0):
                break
            dims += 1
            count //= turns
        return count


@dataclass(frozen=True)
class MatmulEstimate:
    """Estimates for one problem on one device."""

    problem: Problem
    device: Device
    _tails: dict[tuple[int, ...], int] = field(default_factory=dict, compare=False)

    def rank(self, strategy: Strategy) -> tuple[float, int]:
        """Less is better: seconds, then fewer kernel calls."""
        return self.seconds(strategy), -strategy.tile_l1[2]

    def glance(self, strategy: Strategy) -> float:
        """A first guess that is quickly made: work, traffic and descriptors one after the other."""
        problem, device = self.problem, self.device
        traffic = l3_traffic_bytes(problem, strategy) / device.dram.total_bytes_per_second
        (rows, columns), (m, n, _) = strategy.array, strategy.tile_l2
        is_whole = problem.m % m == 0 and problem.n % n == 0
        blocks = 1 if is_whole else -(-problem.m // m) * -(-problem.n // n)
        descriptors = problem.batch * blocks * (rows + columns * (2 + len(problem.tail_operands)))
        return self._core_seconds(strategy)[0] + traffic + descriptors * device.control.descriptor_seconds

    def work_share(self, strategy: Strategy) -> float:
        """How much of the time the cores and DRAM would take alone."""
        moved = sum(stream.seconds(self.device) for stream in streams_of(self.problem, strategy))
        return max(self._core_seconds(strategy)[0], moved) / self.seconds(strategy)

    def seconds(self, strategy: Strategy) -> float:
        """How long the whole matmul takes, roughly."""
        device = self.device
        streams = list(streams_of(self.problem, strategy))
        operands, control = streams[:2], device.control.descriptor_seconds
        channels: dict[tuple[int, bool], float] = {}
        for stream in streams:
            key = (stream.channels, stream.is_result)
            channels[key] = channels.get(key, 0.0) + stream.channel_seconds(device)
        core, last = self._core_seconds(strategy)
        dram, channel = sum(stream.seconds(device) for stream in streams), max(channels.values())
        starting = control * sum(stream.channels for stream in operands)
        setting_up = control * sum(stream.descriptors(device) for stream in streams) - starting
        arrival = (stream.channel_seconds(device) / stream.turns() for stream in operands)
        first = max(sum(stream.seconds(device) / stream.turns() for stream in operands), *arrival)
        between = max(0.0, 1 - first / max(dram, channel))
        times = (core, between * dram, between * channel, max(0.0, setting_up - first))
        single = sum(min(slots) == 1 for slots in (strategy.slots_lhs, strategy.slots_rhs))
        return starting + first + together(times, _POWERS[single]) + last

    def _core_seconds(self, strategy: Strategy) -> tuple[float, float]:
        """A core's time in all, and that of a block's last steps: the tail, and the result's way out.

        Operands of the next block arrive while a result leaves for which there is no second slot.
        """
        problem, device = self.problem, self.device
        m, n, k = strategy.tile_l1
        sizes = ((problem.m, strategy.tile_l2[0]), (problem.n, strategy.tile_l2[1]))
        blocks = problem.batch * prod(-(-size // tile) for size, tile in sizes)
        calls = padded(problem.k, strategy.tile_l2[2]) // k
        compute, arrival = (calls * cycles for cycles in self._call_cycles(strategy))
        filling = m * n * problem.acc_bytes / device.engines[0].vector_bytes + device.engines[0].call_cycles
        leaving = m * n * problem.result_bytes / device.dma(1).bytes_per_cycle
        tail = self._tail_cycles(strategy)
        busy = compute + filling + tail
        waiting = leaving if strategy.depth_result == 1 else max(0.0, leaving - max(busy, arrival))
        block = max(busy + waiting, arrival) + _BOTH_SHARE * min(compute, arrival)
        return (blocks * block - waiting) / device.clock_hz, (tail + leaving) / device.clock_hz

    def _call_cycles(self, strategy: Strategy) -> tuple[float, float]:
        """One kernel call: its multiplications, and the arrival of its operands beside it."""
        problem, (m, n, k) = self.problem, strategy.tile_l1
        compute = matrix_cycles(problem.types, m * n * k, m * n * problem.acc_bytes, self.device)
        return compute, max(m * k * problem.lhs_bytes, k * n * problem.rhs_bytes) / self.device.dma(1).bytes_per_cycle

    def _tail_cycles(self, strategy: Strategy) -> int:
        """What is done with a tile's sums, which lie packed."""
        (m, n, _), (pack_m, pack_n, _) = strategy.tile_l1, strategy.pack
        sizes = (m // pack_m, n // pack_n, pack_m, pack_n)
        if self.problem.tail is not None and sizes not in self._tails:
            kind = made_as(self.problem.types, self.device)
            self._tails[sizes] = vector_cycles(_packed(self.problem.tail), sizes, self.device, kind)
        return self._tails.get(sizes, 0)


def _packed(tail: VectorWork) -> VectorWork:
    """A tail on packed sums: loops over pieces along m and n and inside of them; one loop where operands are alike."""
    if len(tail.runs) == 1:
        return replace(tail, runs=((0, 1, 2, 3),))

    def packed(operand: VectorOperand) -> VectorOperand:
        follows_n = len(tail.runs) - 1 in operand.follows
        follows_m = any(run < len(tail.runs) - 1 for run in operand.follows)
        lies = tuple(loop for loop in range(4) if (follows_m, follows_n)[loop % 2])
        return VectorOperand(operand.element_bytes, frozenset(lies), lies)

    inputs, outputs = (tuple(map(packed, operands)) for operands in (tail.inputs, tail.outputs))
    return replace(tail, runs=((0,), (1,), (2,), (3,)), sums=(False,) * 4, inputs=inputs, outputs=outputs)


def _without_repeats(loops: Sequence[tuple[int, bool, bool]]) -> Sequence[tuple[int, bool, bool]]:
    """The loops that a stream is repeated by: inside of the first that it moves with, it comes once for all turns."""
    moving = next((place for place, (turns, moves, _) in enumerate(loops) if moves and turns > 1), len(loops))
    return tuple((1, moves, is_whole) for _, moves, is_whole in loops[:moving]) + tuple(loops[moving:])


def streams_of(problem: Problem, strategy: Strategy) -> Iterator[_Stream]:
    """Operands, what the tail reads, and the result."""
    m, n, k = strategy.tile_l2
    rows, columns = strategy.array
    along_m, along_n = (columns, rows) if strategy.turned else (rows, columns)
    whole = [size % tile == 0 for size, tile in zip((problem.m, problem.n, problem.k), (m, n, k))]
    loop_m, loop_n, loop_k = (
        (-(-size // tile), is_whole)
        for size, tile, is_whole in zip((problem.m, problem.n, problem.k), (m, n, k), whole)
    )

    def loops(follows_m: bool, follows_n: bool, *inner: tuple[int, bool, bool]) -> Sequence[tuple[int, bool, bool]]:
        outer = ((loop_n[0], follows_n, loop_n[1]), (loop_m[0], follows_m, loop_m[1]), (problem.batch, True, True))
        return _without_repeats((*inner, *outer))

    by_k = (loop_k[0], True, loop_k[1])
    m, n, k = min(m, problem.m), min(n, problem.n), min(k, problem.k)
    tails_m = any(not operand.along_n for operand in problem.tail_operands)
    tails_n = any(operand.along_n for operand in problem.tail_operands)
    lhs_run, lhs_pitch = k * problem.lhs_bytes, problem.k * problem.lhs_bytes
    rhs_run, rhs_pitch = -(-n // along_n) * problem.rhs_bytes, problem.n * problem.rhs_bytes
    if problem.rhs_along_k:
        rhs_run, rhs_pitch = k * problem.rhs_bytes, problem.k * problem.rhs_bytes
    yield _Stream(m * k * problem.lhs_bytes, lhs_run, lhs_pitch, loops(True, False, by_k), along_m, is_shared=tails_m)
    size, adjoin = k * n * problem.rhs_bytes, 1 if problem.rhs_along_k else along_n
    yield _Stream(size, rhs_run, rhs_pitch, loops(False, True, by_k), along_n, is_shared=tails_n, joined=adjoin)
    for operand in problem.tail_operands:
        around = loops(operand.along_m, operand.along_n, (1, True, True))
        size = operand.bytes(m, n)
        channels = columns if operand.along_m and operand.along_n else along_n if operand.along_n else along_m
        run, pitch = min(size, n * operand.element_bytes), problem.n * operand.element_bytes
        yield _Stream(size, run, pitch, around, channels, is_shared=True)
    adjoin = 1 if strategy.turned else columns
    run, size, pitch = (elements * problem.result_bytes for elements in (-(-n // adjoin), m * n, problem.n))
    yield _Stream(size, run, pitch, loops(True, True), columns, is_result=True, joined=adjoin)
