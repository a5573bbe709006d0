"""Strategies of a part of a function, while what parts hand over stays on the chip. Pure.

Whether it will is decided once there are schedules. So a part takes what is best with everything in DRAM, or of what is
not much worse so, what is faster otherwise: as phases of a launch have it, whose tensors take nothing of DRAM where the
strategy leaves them room and channels, and whose tasks are set up while the phase before works, as far as it has time.
What it leaves none takes DRAM's time in another part as well: of who makes it, or reads it.
Of what is as fast then, it takes what leaves the most descriptors beside memory tiles: a tensor that stays in several
of them takes some of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

from npuflow.strategy.choose import CostedStrategy
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.room import HomeRoom, tile_descriptors
from npuflow.strategy.search import PLAYED
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# So many of the best strategies are looked at, in DRAM and with tensors at home, for what takes at most twice as long
# as the best does in DRAM, whose time for what may stay hides what else differs, and is clearly faster played out: more
# is in docs/design.md.
NEAR_WAYS = PLAYED
_NEAR = 2.0
_FASTER = 0.96
# Estimates that differ by less say nothing of which way is faster at home: what costs less in DRAM is taken.
_ALIKE = 1.01
# Of the time that tasks take the control processor, and a phase doesn't, what others have no time for either.
_LATE = 0.5


@dataclass(frozen=True)
class PhaseTimes:
    """How long a group takes as a phase of a launch, with what other parts make or read at home on the chip.

    In front of it, a plan has tiles wait for so long for each stream that sets them up.
    """

    at_home: Group
    device: Device
    stream_seconds: float = 0.0
    estimates: dict[tuple[bool, frozenset[int]], Estimate] = field(default_factory=dict, compare=False)

    def better(
        self, best: Strategy, ranked: Sequence[CostedStrategy], at_home: Sequence[CostedStrategy] = ()
    ) -> list[Strategy]:
        """What to take in place of the best in DRAM, if there is a program for it, the first to be asked first.

        Of what is `ranked` in DRAM, and with tensors `at_home`, those that are near to it and faster at home, the
        fastest first, and of those that are as fast as that what costs least in DRAM, where its tensors may be after
        all; in front of them what is as fast, there and at home, as the first, or as the best where none is faster, and
        takes fewer descriptors.
        """
        known = {one.strategy for one in ranked}
        others = [replace(one, cost=self._in_dram(one.strategy)) for one in at_home if one.strategy not in known]
        near = [(self._cost(one.strategy), one) for one in (*ranked, *others) if one.cost <= _NEAR * ranked[0].cost]
        most = _FASTER * self._cost(best)
        faster = sorted((each for each in near if each[0] < most), key=itemgetter(0))
        alike = [each for each in faster if each[0] <= _ALIKE * faster[0][0]]
        faster[: len(alike)] = sorted(alike, key=lambda each: each[1].cost)
        first = faster[:1] or [each for each in near if each[1].strategy == best]
        return [one.strategy for _, one in (*(way for each in first for way in self._lighter(near, *each)), *faster)]

    def _lighter(
        self, near: Sequence[tuple[float, CostedStrategy]], cost: float, first: CostedStrategy
    ) -> list[tuple[float, CostedStrategy]]:
        """What is as fast as the first and takes fewer descriptors, the fewest first."""
        equal = [way for way in near if way[0] <= cost and way[1].cost <= first.cost]
        counted = sorted(
            ((self._descriptors(way[1].strategy), way) for way in equal), key=lambda each: (each[0], each[1][0])
        )
        most = self._descriptors(first.strategy)
        return [way for count, way in counted if count < most]

    def _descriptors(self, strategy: Strategy) -> int:
        group = self._groups[bool(strategy.gather)]
        return tile_descriptors(group, mapping_of(group, strategy), self.device)

    def _in_dram(self, strategy: Strategy) -> float:
        estimate = self._estimates_in_dram[bool(strategy.gather)]
        return estimate.cost(mapping_of(estimate.group, strategy))

    @cached_property
    def _estimates_in_dram(self) -> tuple[Estimate, Estimate]:
        apart, gathered = (Estimate(group.at_home(frozenset()), self.device) for group in self._groups)
        return apart, gathered

    def _cost(self, strategy: Strategy) -> float:
        """With those at home to which it leaves room, and channels; others somebody else moves as well.

        Tasks of others are set up while the phase before works, but the control processor takes as long for them. Tiles
        are, but where a plan had them wait for that.
        """
        is_gathered, mapping = bool(strategy.gather), mapping_of(self.at_home, strategy)
        group = self._groups[is_gathered]
        kept = frozenset(self._kept(group, mapping))
        way = is_gathered, kept
        if way not in self.estimates:
            self.estimates[way] = Estimate(group.at_home(kept), started(self.device))
        estimate = self.estimates[way]
        transfers, tensors = estimate.transfers(mapping), (*estimate.group.inputs, *estimate.group.outputs)
        tasks = sum(transfers[tensor.name].descriptors for tensor in tensors if not tensor.at_home)
        played, control = estimate.played_cost(mapping), tasks * self.device.control.descriptor_seconds
        setting_up = self.stream_seconds * streams_of(mapping.spread.grid, self.device)
        return played + _LATE * max(0.0, control - played) + setting_up + self._elsewhere(kept)

    def _elsewhere(self, kept: Collection[int]) -> float:
        """What DRAM takes in other parts for what can't stay, at least: who makes or reads a tensor moves it too."""
        sizes = {tensor.number: tensor.whole_bytes for tensor in self.at_home.tensors if tensor.at_home}
        moved = sum(size for number, size in sizes.items() if number not in kept)
        return moved / self.device.dram.total_bytes_per_second

    def _kept(self, group: Group, mapping: Mapping) -> Iterator[int]:
        """The numbers of tensors that stay, as far as that is for a mapping to say."""
        room = HomeRoom(group, mapping, self.device)
        for tensor in group.tensors:
            if tensor.at_home and tensor.number is not None and sum(room.of(tensor.number)) >= tensor.whole_bytes:
                yield tensor.number

    @cached_property
    def _groups(self) -> tuple[Group, Group]:
        """As it is, and with its windows gathered."""
        return self.at_home, self.at_home.with_gather() or self.at_home


def streams_of(grid: tuple[int, int], device: Device) -> int:
    """The streams of packets that set up the tiles of a grid.

    Each memory tile has one of its own. The cores of a column get the same, and so do those of all columns.
    """
    columns = grid[1]
    return columns + (1 if columns == device.columns else columns)


def started(device: Device) -> Device:
    """The device of a phase, which finds set up what it needs, and starts it."""
    control = device.control
    seconds = min(control.descriptor_seconds, control.start_seconds)
    return replace(device, control=replace(control, descriptor_seconds=seconds))


def seconds_in_a_row(times: Iterable[tuple[float, float]], change: float, before: float | None = None) -> float:
    """How long phases take one after the other, of which is known how long by themselves, and with all set up.

    To set up the rest, and to go on to it, which takes `change` more, has as long as the phase in front works with all
    set up: what isn't done by then holds up the array. In front of the first one something works `before`, where it
    isn't the first of all.
    """
    total, before = 0.0, change if before is None else before
    for alone, begun in times:
        total += max(begun, alone + change - before)
        before = begun
    return total


def against_more(seconds: float, parts: int, others: int) -> float:
    """What the seconds of parts count as against others: where these are more, they have to be clearly faster.

    What one more hands over takes channels and descriptors that keep other tensors from staying on the chip.
    """
    return _FASTER * seconds if parts < others else seconds
