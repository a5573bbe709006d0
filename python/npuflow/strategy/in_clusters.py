"""Strategies by which clusters keep what they make for the parts behind, each some rows of it. Pure.

All clusters stand in a row, along one loop that everything handed over follows, and each has one stretch of it: so much
of a tensor that neighbouring parts that are spread so have the same of it, but for halos.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from npuflow.strategy.estimate import Estimate
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.group import Group, Role, Tensor
from npuflow.strategy.mapping import Mapping, strategy_of
from npuflow.strategy.search import Search
from npuflow.strategy.space import space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# So many are looked at for one that fits a program, and a scratchpad with what comes through ports.
_MOST_WAYS = 64


@dataclass(frozen=True)
class ClusterRows:
    """The loop that clusters follow, and how much of it each has."""

    loop: int
    tile: int


def rows_of(group: Group, pitches: Collection[int], device: Device) -> ClusterRows | None:
    """How clusters would share what is handed over, the tensors with numbers; None where they can't.

    `pitches` are the bytes by which dimensions of these go on where others know them: whole rows of an image, though
    its pixels be in one line here.
    """
    handed = [tensor for tensor in group.tensors if tensor.number is not None]
    outer = next((t for t in handed if t.role is Role.OUTPUT), handed[0] if handed else None)
    cores = device.rows * device.columns
    loop = None if outer is None else next(_shared(group, outer, handed), None)
    if outer is None or loop is None or cores == 1 or group.packed or group.keeps_rows:
        return None
    stride, size = outer.strides[loop], group.sizes[loop]
    row = max((pitch // stride for pitch in pitches if not pitch % stride and pitch < stride * size), default=1)
    return ClusterRows(loop, min(size, -(-size // (row * cores)) * row))


def _shared(group: Group, tensor: Tensor, others: Sequence[Tensor]) -> Iterator[int]:
    """The loops of a tensor that others follow as well, its outer dimensions first."""
    for dim in tensor.dims:
        loops = (loop for loop, _ in dim.terms if loop < group.space and group.sizes[loop] > 1)
        yield from (loop for loop in loops if all(other.follows(loop) for other in others))


def without(group: Group, numbers: Collection[int]) -> Group:
    """The group with nothing to move of tensors of these numbers."""
    return replace(group, tensors=tuple(tensor for tensor in group.tensors if tensor.number not in numbers))


def ways_by_rows(group: Group, said: Strategy, rows: ClusterRows, device: Device) -> Iterator[tuple[Strategy, Mapping]]:
    """Strategies by which clusters have these rows, those first that are fastest with nothing handed over to move."""
    cores = device.rows * device.columns
    given = replace(said, grid=(1, cores), spread=(rows.loop, rows.loop))
    space = space_of(group, given, device)
    tiles = tuple(rows.tile if loop == rows.loop else tile for loop, tile in enumerate(space.start.tiles))
    own = replace(
        space,
        group=without(group, group.numbers),
        start=replace(space.start, tiles=tiles),
        open=tuple(loop for loop in space.open if loop != rows.loop),
    )
    search = Search(own, device)
    for count in (1, _MOST_WAYS):
        for one in search.best(count).best:
            strategy = strategy_of(group, one.mapping, given)
            if not obstacles(group, strategy, device):
                yield strategy, one.mapping


def seconds_by_rows(group: Group, mapping: Mapping, kept: Collection[int], device: Device) -> float:
    """How long it takes with some tensors kept in clusters, others on the chip, but for what clusters lack."""
    return Estimate(without(group, kept).at_home(group.numbers), device).seconds(mapping)


def exchange_seconds(tensor: Tensor, group: Group, rows: ClusterRows, made: int, device: Device) -> float:
    """How long ports take to bring what clusters read of a tensor and others make, of which each makes `made` bytes.

    Both count along a period of the tensor; where one is spread otherwise, nearly all of it is brought.
    """
    dma, cores = device.dma(device.dram_level), device.rows * device.columns
    stride = tensor.strides.get(rows.loop, 0)
    dims = [dim for dim in tensor.dims if any(loop == rows.loop for loop, _ in dim.terms)]
    number = tensor.dims.index(dims[0]) if dims else 0
    pitch, period = tensor.pitches[number], tensor.pitches[number] * tensor.shape[number]
    whole = tensor.whole_bytes
    tiles = [rows.tile if loop == rows.loop else size for loop, size in enumerate(group.sizes)]
    extent = dims[0].extent(tiles) * pitch if dims else period
    lacking = pieces = 0
    for cluster in range(cores):
        begin = cluster * rows.tile * stride
        before = max(0, (extent - rows.tile * stride) // 2)
        first, last = max(0, begin - before), min(period, begin - before + extent)
        own = max(0, min(last, (cluster + 1) * made, period) - max(first, cluster * made))
        lack = max(0, last - first - own)
        lacking += lack
        pieces += (lack > 0) * 2
    moved = lacking * (whole // period)
    lanes = dma.channels_out
    return (pieces * dma.start_cycles + moved / dma.bytes_per_cycle) / lanes / device.clock_hz
