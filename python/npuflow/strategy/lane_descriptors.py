"""Descriptors of a memory tile: what its channels take of each group, and the lanes that spread them best. Pure.

A tile's channels in turn belong to a group of descriptors each. What comes in goes through one of several lanes: an
in-channel, and an out-channel that serves all rows of cores in turn, or one for each row (`separate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from npuflow import _native
from npuflow.target import Device, PatternLimits
from npuflow.target.patterns import flat_limits
from npuflow.target.planned import goes_around_l2


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

    What comes in takes one of so many `lanes`; results leave through as many channels as `leaving` says. A descriptor
    addresses what `pattern` says.
    """

    rows: int
    channels_out: int
    groups: int
    lanes: int
    leaving: int
    pattern: PatternLimits

    @staticmethod
    def of(device: Device, rows: int) -> TileDma:
        dma, outer, inner = device.dma(device.block_level), device.dram_level, device.block_level
        (_, filling), (leaving, _) = device.ways.hop(outer, inner), device.ways.hop(inner, outer)
        return TileDma(rows, dma.channels_out, dma.descriptor_groups, filling.lanes, leaving.lanes, dma.pattern)

    @cached_property
    def flat(self) -> _native.TileLanes:
        return _native.TileLanes(
            channels_out=self.channels_out,
            groups=self.groups,
            lanes=self.lanes,
            leaving=self.leaving,
            pattern=flat_limits(self.pattern),
        )


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


def fullest_group(moved: Sequence[Moved], choice: Choice, results: Results, dma: TileDma) -> int:
    """The descriptors of the group that needs most, with buffers in these lanes."""
    flat, separate = _flat(moved), [lane in choice.separate for lane in range(dma.lanes)]
    return _native.fullest_group(flat, (choice.lanes, separate), (results.gathered, results.left), dma.rows, dma.flat)


@lru_cache(maxsize=1024)
def evenest(moved: tuple[Moved, ...], results: Results, dma: TileDma) -> Choice:
    """The lanes whose fullest group needs the fewest descriptors, the same for the same buffers in any order."""
    flat = _flat(moved)
    lanes, separate = _native.evenest_lanes(flat, (results.gathered, results.left), dma.rows, dma.flat)
    return Choice(tuple(lanes), frozenset(lane for lane, is_alone in enumerate(separate) if is_alone))


def _flat(moved: Sequence[Moved]) -> list[tuple[int, int, bool]]:
    return [(buffer.filled, buffer.emptied, buffer.by_rows) for buffer in moved]
