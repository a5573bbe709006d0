"""Groups, mappings and devices as the native core takes them: flat numbers."""

from __future__ import annotations

from functools import lru_cache

from npuflow import _native
from npuflow.strategy.group import Group, MatmulOperand, Role, Tensor
from npuflow.strategy.lane_descriptors import TileDma
from npuflow.strategy.mapping import Depths, Mapping, Spread
from npuflow.target import Device
from npuflow.target.patterns import flat_limits
from npuflow.target.planned import goes_around_l2

# What has larger sizes fits no memory, and isn't asked about.
MOST_SIZE = 2**40

_ROLES = {role: number for number, role in enumerate(Role)}
# What may change in a mapping beside sizes, by the fields of `Depths`.
SLOTS = {name: number for number, name in enumerate(("l2", "l1", "result", "tail", "hold", "between"), 2)}
_OPERANDS: dict[MatmulOperand | None, int] = {
    None: 0,
    **{operand: number for number, operand in enumerate(MatmulOperand, 1)},
}


@lru_cache(maxsize=256)
def flat_group(group: Group) -> _native.FlatGroup:
    """A group's loops, tensors and ops."""
    return _native.FlatGroup(
        group.sizes,
        group.space,
        group.streamed,
        [_flat_tensor(tensor) for tensor in group.tensors],
        [(work.loops, work.pieced, work.starting) for work in group.work],
        group.pads_streamed,
        group.packed,
    )


def _flat_tensor(tensor: Tensor) -> _native.TensorNumbers:
    dims = [(dim.terms, size) for dim, size in zip(tensor.dims, tensor.shape)]
    kind, users = (_ROLES[tensor.role], _OPERANDS[tensor.operand]), (tensor.user, tensor.last_user)
    return (
        *kind,
        dims,
        tensor.element_bytes,
        tensor.gathered,
        users,
        tensor.handed_over,
        tensor.at_home,
        tensor.padded,
    )


def flat_mapping(mapping: Mapping) -> _native.MappingNumbers:
    """A mapping without its pack, which only kernels ask for."""
    depths = mapping.depths
    slots = (depths.l2, depths.l1, depths.result, depths.tail, depths.between, depths.hold)
    return (
        mapping.tiles,
        flat_spread(mapping.spread),
        (*slots, depths.lhs or None, depths.rhs or None),
        mapping.order,
        mapping.in_l2,
        mapping.whole,
    )


def flat_spread(spread: Spread) -> _native.SpreadNumbers:
    return (*spread.grid, spread.rows, spread.columns)


def mapping_from(numbers: _native.MappingNumbers, pack: tuple[int, ...]) -> Mapping:
    """The other way round."""
    tiles, (rows, columns, row_loop, column_loop), slots, order, in_l2, whole = numbers
    l2, l1, result, tail, between, hold, lhs, rhs = slots
    depths = Depths(l2, l1, result, hold, tuple(lhs or ()), tuple(rhs or ()), tail, between)
    spread = Spread((rows, columns), row_loop, column_loop)
    return Mapping(tuple(tiles), spread, depths, tuple(order), tuple(in_l2), pack, whole)


@lru_cache(maxsize=16)
def flat_machine(device: Device) -> _native.MachineRates:
    """What a device gives to mapped groups."""
    dram, outermost, core = device.dram, device.dma(device.dram_level), device.dma(device.kernel_level)
    rates = _native.DramRates(
        read_rate=dram.read_bytes_per_second,
        write_rate=dram.write_bytes_per_second,
        total_rate=dram.total_bytes_per_second,
        read_overhead=dram.read_run_overhead_bytes,
        write_overhead=dram.write_run_overhead_bytes,
        page_overhead=dram.page_overhead_bytes,
        edge_overhead=dram.edge_overhead_bytes,
        page_bytes=dram.page_bytes,
        burst_bytes=dram.burst_bytes,
        joins_runs=dram.joins_runs,
    )
    link = device.link(device.block_level, device.kernel_level)
    room = _native.CoreRoom(
        bytes_per_second=core.bytes_per_cycle * device.clock_hz,
        capacity=device.capacity_bytes(device.kernel_level, 1, 1),
        alignment=device.level(device.kernel_level).alignment_bytes,
        descriptors=core.descriptors,
        lock_max=core.lock_max,
    )
    return _native.MachineRates(
        clock_hz=device.clock_hz,
        descriptor_seconds=device.control.descriptor_seconds,
        channel_rate=outermost.bytes_per_cycle * device.clock_hz,
        latency_seconds=dram.latency_seconds,
        begin_l2_seconds=device.dma(device.block_level).start_cycles / device.clock_hz,
        begin_l1_seconds=core.start_cycles / device.clock_hz,
        link_rate=link.bytes_per_cycle * link.lanes * device.clock_hz,
        queue=outermost.queue_depth,
        outermost=flat_limits(outermost.pattern),
        dram=rates,
        core=room,
        tile=_flat_tile(device),
        direct=_native.DirectWays(
            are_taken=goes_around_l2(device),
            lanes=device.ways.hop(device.dram_level, device.block_level)[0].lanes,
            start_seconds=outermost.start_cycles / device.clock_hz,
        ),
    )


def _flat_tile(device: Device) -> _native.BlockRoom:
    dma = device.dma(device.block_level)
    return _native.BlockRoom(
        capacity=device.capacity_bytes(device.block_level, 1, 1),
        columns=device.columns,
        descriptors=dma.descriptors,
        lock_max=dma.lock_max,
        lanes=TileDma.of(device, 1).flat,
        pads_with_zeros=dma.pads_with_zeros,
    )
