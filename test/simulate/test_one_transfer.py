"""One transfer: what it waits for, and at what rate it moves. Times are worked out by hand."""

from __future__ import annotations

import dataclasses

from npuflow.simulate.one_transfer import OneTransfer
from npuflow.simulate.run import simulate
from npuflow.target import Device, load_device
from npuflow.target.model import Gear


def machine() -> Device:
    """`toy-scratchpad` with a start, a latency and a rate of its own within each memory. A cycle is a nanosecond."""
    toy = load_device("toy-scratchpad")
    starts, local = {1: 10, 3: 30}, {1: 2.0, 3: 1.0}
    dmas = tuple(
        dataclasses.replace(dma, start_cycles=starts[dma.level], local_bytes_per_cycle=local[dma.level])
        for dma in toy.dmas
    )
    dram = dataclasses.replace(toy.dram, latency_seconds=100e-9, gathered_bytes=64)
    gears = (Gear(name="slow", start_cycles=50, latency_seconds=200e-9),)
    return dataclasses.replace(toy, dmas=dmas, dram=dram, gears=gears)


def cycles(from_level: int, to_level: int, bytes_: int, device: Device | None = None) -> int:
    return simulate(OneTransfer(from_level, to_level, bytes_).program(device or machine())).cycles


def test_to_dram_takes_its_start_and_its_bytes() -> None:
    assert cycles(1, 3, 400) == 30 + 400 // 4


def test_from_dram_takes_what_is_gathered_first_as_well() -> None:
    assert cycles(3, 1, 400) == 30 + 100 + 64 // 4 + 400 // 4
    assert cycles(3, 1, 40) == 30 + 100 + 40 // 4 + 40 // 4


def test_within_a_memory_at_its_own_rate() -> None:
    assert cycles(1, 1, 400) == 10 + 400 // 2
    assert cycles(3, 3, 400) == 30 + 100 + 400 // 1


def test_a_gear_changes_what_dram_takes() -> None:
    slow = machine().in_gear("slow")
    assert cycles(1, 3, 400, slow) == 50 + 100
    assert cycles(3, 3, 400, slow) == 50 + 200 + 400
    assert cycles(1, 1, 400, slow) == cycles(1, 1, 400)
    assert machine().in_gear("none that it has") == machine()
