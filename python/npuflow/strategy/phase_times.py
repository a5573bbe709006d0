"""Strategies of a part of a function, while what parts hand over stays on the chip. Pure.

Whether it will is decided once there are schedules. So a part takes what is best with everything in DRAM, or of what is
about as good so, what is faster otherwise: as phases of a launch have it, whose tensors take nothing of DRAM, and whose
tasks are set up while the phase before works. Of what is as fast then, it takes what leaves the most descriptors beside
memory tiles: a tensor that stays in several of them takes some of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from npuflow.strategy.choose import CostedStrategy
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.room import tile_descriptors
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# So many of the best strategies are looked at, for what is as near to the best as estimates tell strategies of a group
# apart, and clearly faster played out (docs/design.md). What is farther from the best asks of homes what they can't
# have: within 30 % a MobileNetV2 in i8 moved twice what is compulsory.
NEAR_WAYS = 64
_NEAR = 1.15
_FASTER = 0.96


@dataclass(frozen=True)
class PhaseTimes:
    """How long a group takes as a phase of a launch, with what other parts make or read at home on the chip."""

    at_home: Group
    device: Device

    def better(self, best: Strategy, ranked: Sequence[CostedStrategy]) -> list[Strategy]:
        """What to take in place of the best in DRAM, if there is a program for it, the first to be asked first.

        Those that are near to it and faster at home, the fastest first; in front of them what is as fast, there and at
        home, as the fastest, or as the best where none is faster, and takes fewer descriptors.
        """
        near = [(self._cost(one.strategy), one) for one in ranked if one.cost <= _NEAR * ranked[0].cost]
        faster = sorted((each for each in near if each[0] < _FASTER * self._cost(best)), key=itemgetter(0))
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
        return [way for count, way in counted if count < self._descriptors(first.strategy)]

    def _descriptors(self, strategy: Strategy) -> int:
        group = self._groups[bool(strategy.gather)]
        return tile_descriptors(group, mapping_of(group, strategy), self.device)

    def _cost(self, strategy: Strategy) -> float:
        return self._estimates[bool(strategy.gather)].played_cost(mapping_of(self.at_home, strategy))

    @cached_property
    def _estimates(self) -> tuple[Estimate, Estimate]:
        """Of the group as it is, and with its windows gathered; a phase finds set up what it needs, and starts it."""
        control = self.device.control
        started = min(control.descriptor_seconds, control.start_seconds)
        device = replace(self.device, control=replace(control, descriptor_seconds=started))
        return Estimate(self._groups[0], device), Estimate(self._groups[1], device)

    @cached_property
    def _groups(self) -> tuple[Group, Group]:
        return self.at_home, self.at_home.with_gather() or self.at_home
