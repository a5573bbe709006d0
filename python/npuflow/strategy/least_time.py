"""How long a group takes at least on a device, whatever its mapping. Pure.

The native core goes through all tiles (`native/src/least_time.cpp`); what is found is a bound of the device's model: of
its kernels, its DMA engines and its DRAM, not of another machine that multiplies as fast.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.strategy.flat import mapping_from
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import Mapping
from npuflow.strategy.search import Search
from npuflow.strategy.space import space_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# Tiles, and parts of kernels' times, that are looked at: some seconds.
MOST_STEPS = 5_000_000


@dataclass(frozen=True)
class LeastTime:
    """What no mapping is faster than, on this device and with its kernels.

    Of the best tiles that L1 has room for: seconds until all cores can begin, in which they compute, and wait for what
    has no second slot there; beside that, what all takes into L1, what DRAM takes, and setting up. `mapping` is one
    that is bound by no more.
    """

    seconds: float
    before_seconds: float
    core_seconds: float
    waiting_seconds: float
    arrival_seconds: float
    dram_seconds: float
    setting_up_seconds: float
    mapping: Mapping


def least_time(group: Group, device: Device, *, most_steps: int = MOST_STEPS) -> LeastTime | None:
    """The least of a group, and of it with windows gathered; None where that takes more steps, or none fits."""
    gathered = group.with_gather()
    ways = [group] if gathered is None else [group, gathered]
    found = [_of_space(Search(space_of(way, Strategy(), device), device), most_steps) for way in ways]
    known = [one for one in found if one is not None]
    return min(known, key=lambda one: one.seconds) if len(known) == len(found) else None


def _of_space(search: Search, most_steps: int) -> LeastTime | None:
    results = search.estimate.least_of_results(search.pack)
    found = search.core.least_time(search.flat, results, most_steps)
    return None if found is None else LeastTime(*found[:-1], mapping_from(found[-1], search.pack))
