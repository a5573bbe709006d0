"""Descriptors of a memory tile: what its channels take of each group, and the lanes that spread them best. Pure.

A tile's channels in turn belong to a group of descriptors each. What comes in goes through one of several lanes: an
in-channel, and an out-channel that serves all rows of cores in turn, or one for each row (`separate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

# For so many buffers all ways to take the lanes are compared; of more the largest are, the others even things out.
_COMPARED = 6


def served_array(device: Device) -> tuple[int, int]:
    """Rows and columns of cores that memory tiles serve; without memory tiles, all of them."""
    return (device.rows if goes_around_l2(device) else _served_rows(device), device.columns)


def served_arrays(device: Device) -> tuple[tuple[int, int], ...]:
    """The ways in which all of these stand in rows and columns."""
    return device.arrays() if goes_around_l2(device) else (served_array(device),)


def _served_rows(device: Device) -> int:
    """Beside the lanes, each row's results take an in-channel."""
    _, filling = device.ways.hop(device.dram_level, device.block_level)
    return max(1, min(device.rows, device.dma(device.block_level).channels_in - filling.lanes))


@dataclass(frozen=True)
class TileDma:
    """Rows of cores that a memory tile serves, its out-channels, and the groups that its descriptors fall into.

    What comes in takes one of so many `lanes`; results leave through as many channels as `leaving` says.
    """

    rows: int
    channels_out: int
    groups: int
    lanes: int
    leaving: int

    @staticmethod
    def of(device: Device, rows: int) -> TileDma:
        dma, outer, inner = device.dma(device.block_level), device.dram_level, device.block_level
        (_, filling), (leaving, _) = device.ways.hop(outer, inner), device.ways.hop(inner, outer)
        return TileDma(rows, dma.channels_out, dma.descriptor_groups, filling.lanes, leaving.lanes)


@dataclass(frozen=True)
class Moved:
    """A buffer on its way in: descriptors that fill it, and that empty it once; `by_rows`, for each row on its own."""

    filled: int
    emptied: int
    by_rows: bool


@dataclass(frozen=True)
class Results:
    """All results on their way out: descriptors that gather them from one row of cores, and that let them leave."""

    gathered: int
    left: int


@dataclass(frozen=True)
class Choice:
    """The lane of each buffer, in their order, and the lanes with a channel for each row."""

    lanes: tuple[int, ...]
    separate: frozenset[int]


@dataclass(frozen=True)
class Lane:
    """What a lane takes: descriptors to be filled, and those of each of its out-channels."""

    number: int
    filled: int
    emptied: int
    channels: int = 1


def fullest_group(lanes: Sequence[Lane], results: Results, dma: TileDma) -> int:
    """The descriptors of the group that needs most."""
    needs = [0] * dma.groups
    first = 0
    for lane in lanes:
        needs[lane.number % dma.groups] += lane.filled
        for channel in range(first, first + lane.channels):
            needs[channel % dma.groups] += lane.emptied
        first += lane.channels
    for row in range(dma.rows):
        needs[(dma.lanes + row) % dma.groups] += results.gathered
    needs[first % dma.groups] += results.left
    return max(needs)


def lanes_of(moved: Sequence[Moved], choice: Choice, dma: TileDma) -> list[Lane]:
    """What the lanes take of buffers that are assigned so."""
    found = []
    for lane in sorted(set(choice.lanes)):
        own = [buffer for buffer, its in zip(moved, choice.lanes) if its == lane]
        filled, alone = sum(buffer.filled for buffer in own), lane in choice.separate
        emptied = sum(buffer.emptied * (dma.rows if buffer.by_rows and not alone else 1) for buffer in own)
        found.append(Lane(lane, filled, emptied, dma.rows if alone else 1))
    return found


@lru_cache(maxsize=1024)
def evenest(moved: tuple[Moved, ...], results: Results, dma: TileDma) -> Choice:
    """The lanes whose fullest group needs the fewest descriptors, the same for the same buffers in any order."""
    order = sorted(range(len(moved)), key=lambda i: (-_weight(moved[i], dma), moved[i].filled, moved[i].by_rows))
    heaviest = [moved[i] for i in order]

    def fullest(choice: Choice) -> int:
        return fullest_group(lanes_of(heaviest, choice, dma), results, dma)

    best = min(_choices(heaviest[:_COMPARED], dma), key=fullest)
    for _ in heaviest[_COMPARED:]:
        best = min((Choice((*best.lanes, lane), best.separate) for lane in range(dma.lanes)), key=fullest)
    lanes = dict(zip(order, best.lanes))
    return Choice(tuple(lanes[i] for i in range(len(moved))), best.separate)


def _weight(buffer: Moved, dma: TileDma) -> int:
    """The descriptors of a buffer at most."""
    return buffer.filled + buffer.emptied * (dma.rows if buffer.by_rows else 1)


def _choices(moved: Sequence[Moved], dma: TileDma) -> Iterator[Choice]:
    """All lanes for some buffers, and all separations that channels last for."""
    for lanes in product(range(dma.lanes), repeat=len(moved)):
        spare = dma.channels_out - dma.leaving - len(set(lanes))
        parted = {lane for lane, buffer in zip(lanes, moved) if buffer.by_rows and dma.rows > 1}
        yield Choice(lanes, frozenset())
        for lane in sorted(parted):
            if dma.rows - 1 <= spare:
                yield Choice(lanes, frozenset([lane]))
        if len(parted) == dma.lanes and dma.lanes * (dma.rows - 1) <= spare:
            yield Choice(lanes, frozenset(parted))
