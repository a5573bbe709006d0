"""Strategies of a part of a function, while what parts hand over stays on the chip. Pure.

Whether it will is decided once there are schedules. So a part takes what is best with everything in DRAM, or of what is
about as good so, what is faster otherwise: as phases of a launch have it, whose tensors take nothing of DRAM, and whose
tasks are set up while the phase before works.
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

    def faster(self, best: Strategy, ranked: Sequence[CostedStrategy]) -> list[Strategy]:
        """Of the best, those that are near to the first and faster than `best` at home, the fastest first."""
        most, least = _NEAR * ranked[0].cost, _FASTER * self._cost(best)
        near = ((self._cost(one.strategy), one.strategy) for one in ranked if one.cost <= most)
        return [way for _, way in sorted((each for each in near if each[0] < least), key=itemgetter(0))]

    def _cost(self, strategy: Strategy) -> float:
        return self._estimates[bool(strategy.gather)].played_cost(mapping_of(self.at_home, strategy))

    @cached_property
    def _estimates(self) -> tuple[Estimate, Estimate]:
        """Of the group as it is, and with its windows gathered; a phase finds set up what it needs, and starts it."""
        control = self.device.control
        started = min(control.descriptor_seconds, control.start_seconds)
        device = replace(self.device, control=replace(control, descriptor_seconds=started))
        return Estimate(self.at_home, device), Estimate(self.at_home.with_gather() or self.at_home, device)
