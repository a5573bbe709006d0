"""Traffic per level and tensor, beside what cannot be avoided; and how full the memories on chip are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from npuflow.bounds.levels import boundaries_of
from npuflow.bounds.sizes import MatmulSizes, OpSizes
from npuflow.report.bounds import op_bounds
from npuflow.report.flows import Flows, flows_of
from npuflow.report.measures import LevelTraffic, Occupancy, TensorTraffic
from npuflow.simulate.program import FlatBuffer, Program
from npuflow.simulate.results import RunResults
from npuflow.target import Device


def levels_of_traffic(
    results: RunResults,
    device: Device,
    labels: Mapping[str, str],
    sizes: Sequence[OpSizes],
    updated: Collection[str] = (),
) -> tuple[LevelTraffic, ...]:
    """What crosses from each level inward and back, the outermost level first.

    `labels` are what tensors in DRAM are called, where that is not the name of their memory. Of those that are
    `updated` only what is touched has to be moved.
    """
    flows = flows_of(results.program)
    outermost = device.dram_level
    whole = {memory.name: memory.bytes for memory in results.program.memories if memory.level == outermost}
    found = []
    for boundary in boundaries_of(device):
        level = boundary.level
        moved = _moved(results, level.number, level.number == outermost, flows)
        touched = (name for name in moved if name in updated and name in whole)
        least = {name: sum(min(once, whole[name]) for once in moved[name]) for name in touched}
        tensors = tuple(
            TensorTraffic(labels.get(name, name), *moved[name], least.get(name, whole.get(name, 0)))
            for name in sorted(moved)
        )
        compulsory = sum(tensor.compulsory_bytes for tensor in tensors)
        ops = op_bounds(sizes, boundary.fast_bytes)
        bound = sum(one.lower_bound_bytes for one in ops) if ops else None
        if bound is not None and all(isinstance(one, MatmulSizes) for one in sizes):
            bound = max(bound, compulsory)
        found.append(LevelTraffic(level.name, tensors, compulsory, bound, ops))
    return tuple(found)


def _moved(results: RunResults, level: int, is_outermost: bool, flows: Flows) -> Mapping[str, tuple[int, int]]:
    """Bytes inward and outward by tensor.

    A buffer between two others is written from one side and read from the other: only the inner side counts.
    """
    moved: dict[str, tuple[int, int]] = {}
    for buffer in buffers_at(results.program, level):
        traffic = results.traffic[buffer.name]
        inward = is_outermost or buffer.tensor in flows.inward
        outward = is_outermost or not inward
        read, written = moved.get(name := flows.tensor_of.get(buffer.tensor, buffer.tensor), (0, 0))
        moved[name] = (read + inward * traffic.read_bytes, written + outward * traffic.written_bytes)
    return moved


def is_whole_tensor(buffer: FlatBuffer) -> bool:
    """Whether a buffer is a tensor's own memory: in DRAM, or at home in a memory tile."""
    return buffer.memory == buffer.name


def buffers_at(program: Program, level: int) -> Iterable[FlatBuffer]:
    """The buffers in memories of a level."""
    levels = {memory.name: memory.level for memory in program.memories}
    return (buffer for buffer in program.buffers if levels[buffer.memory] == level)


def occupancies(program: Program, device: Device) -> tuple[Occupancy, ...]:
    """The fullest memory of each level on chip, the innermost first, without what stays there between phases."""
    outermost = device.dram_level
    levels = sorted((level for level in device.levels if level.number != outermost), key=lambda level: level.number)
    found = []
    for level in levels:
        used: dict[str, int] = {}
        for buffer in (one for one in buffers_at(program, level.number) if not is_whole_tensor(one)):
            end = buffer.address_bytes + buffer.slot_bytes * buffer.depth
            used[buffer.memory] = max(end, used.get(buffer.memory, 0))
        if not used:
            continue
        fullest = max(used, key=lambda name: used[name])
        instances = level.shared_by.instances(device.rows, device.columns)
        bank = level.bytes // level.banks
        found.append(Occupancy(level.name, fullest, used[fullest], level.usable_bytes, len(used), instances, bank))
    return tuple(found)
