"""What a schedule takes on one machine after another, each simulated once.

Constants are fitted one at a time, and most of them reach few rows: a kernel's rate leaves all others' programs as they
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npuflow.schedule.build import Scheduled
from npuflow.simulate.flatten import flatten
from npuflow.simulate.run import simulate
from npuflow.target import Device

Key = tuple[Device, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Times:
    """Simulated times of one schedule, by the device that it ran on and its kernels' cycles."""

    scheduled: Scheduled
    known: dict[Key, float] = field(default_factory=dict, compare=False, repr=False)

    def seconds(self, device: Device, cycles: Mapping[str, int]) -> float:
        """How long it takes on a device where calls of its kernels take so many cycles."""
        key = (device, tuple(sorted(cycles.items())))
        if key not in self.known:
            self.known[key] = simulate(flatten(self.scheduled.schedule, device, cycles)).seconds
        return self.known[key]
