"""Strategies of a part of a function, while what parts hand over stays on the chip. Pure.

Whether it will is decided once there are schedules. So a part takes what is best with everything in DRAM, or of what is
nearly as good so, what is faster otherwise: as phases of a launch have it, whose tensors take nothing of DRAM where the
strategy leaves them room and channels, and whose tasks are set up while the phase before works. Of what is as fast
then, it takes what leaves the most descriptors beside memory tiles: a tensor that stays in several of them takes some
of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from operator import itemgetter

from npuflow.strategy.choose import CostedStrategy
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group, Tensor
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.room import home_room, tile_descriptors
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# So many of the best strategies are looked at, for what is as near to the best as estimates tell strategies of a group
# apart, or DRAM's time for what may stay hides what else differs, and clearly faster played out (docs/design.md).
NEAR_WAYS = 128
_NEAR = 1.3
_FASTER = 0.96


@dataclass(frozen=True)
class PhaseTimes:
    """How long a group takes as a phase of a launch, with what other parts make or read at home on the chip."""

    at_home: Group
    device: Device
    estimates: dict[tuple[Group, tuple[bool, ...]], Estimate] = field(default_factory=dict, compare=False)

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
        """With those at home to which it leaves room, and channels."""
        group, mapping = self._groups[bool(strategy.gather)], mapping_of(self.at_home, strategy)
        kept = tuple(one.at_home and self._has_home(one, group, mapping) for one in group.tensors)
        if (group, kept) not in self.estimates:
            tensors = tuple(replace(one, at_home=each) for one, each in zip(group.tensors, kept))
            self.estimates[group, kept] = Estimate(replace(group, tensors=tensors), self._started)
        return self.estimates[group, kept].played_cost(mapping)

    def _has_home(self, tensor: Tensor, group: Group, mapping: Mapping) -> bool:
        assert tensor.number is not None
        return sum(home_room(group, mapping, self.device, tensor.number)) >= prod(tensor.shape) * tensor.element_bytes

    @cached_property
    def _started(self) -> Device:
        """The device of a phase, which finds set up what it needs, and starts it."""
        control = self.device.control
        started = min(control.descriptor_seconds, control.start_seconds)
        return replace(self.device, control=replace(control, descriptor_seconds=started))

    @cached_property
    def _groups(self) -> tuple[Group, Group]:
        """As it is, and with its windows gathered."""
        return self.at_home, self.at_home.with_gather() or self.at_home
