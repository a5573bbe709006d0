"""Devices as programs see them."""

from __future__ import annotations

import dataclasses

from npuflow.simulate.platform import DRAM_READ, DRAM_TOTAL, DRAM_WRITE, Platform, Side
from npuflow.target import load_device

# Two gigahertz; the first byte of a read takes 150 ns.
DRAM = dataclasses.replace(load_device("toy").dram, latency_seconds=150e-9)
ARRAY = Platform(dataclasses.replace(load_device("toy"), clock_hz=2e9, dram=DRAM))


def test_rates_are_per_cycle_of_the_device() -> None:
    rates = {resource.name: resource.bytes_per_cycle for resource in ARRAY.resources()}
    # 8 GB/s at 2 GHz.
    assert rates[DRAM_TOTAL] == rates[DRAM_WRITE] == rates[DRAM_READ] == 4
    # Four lanes of 4 bytes per cycle in each column.
    assert rates[ARRAY.link(2, 1, (0, 1))] == rates[ARRAY.link(2, 1, (1, 1))] == 16
    assert ARRAY.link(2, 1, (0, 0)) != ARRAY.link(2, 1, (0, 1))
    # Wires are for one way each.
    assert ARRAY.link(1, 2, (0, 0)) != ARRAY.link(2, 1, (0, 0))
    assert rates[ARRAY.link(1, 2, (0, 1))] == 16


def test_channels_are_named_and_placed() -> None:
    core = ARRAY.channel(1, Side.IN, (1, 0), 1, ())
    assert core.name == ARRAY.channel_name(1, Side.IN, (1, 0), 1) == "core dma (1,0) in 1"
    assert (core.ports, core.latency_cycles) == ((), 0)
    assert ARRAY.channel_name(2, Side.OUT, (1, 0), 3) == "memory tile dma 0 out 3"


def test_the_shims_pay_for_dram() -> None:
    reads, writes = (ARRAY.channel(3, side, (0, 1), 0, ()) for side in (Side.OUT, Side.IN))
    assert {DRAM_READ, DRAM_TOTAL} <= set(reads.ports)
    assert {DRAM_WRITE, DRAM_TOTAL} <= set(writes.ports)
    # 150 ns at 2 GHz; only a read waits for its first byte.
    assert (reads.latency_cycles, writes.latency_cycles) == (300, 0)


def test_channels_of_a_port_share_it() -> None:
    dmas = tuple(dataclasses.replace(dma, port_bytes_per_cycle=6.0 * (dma.level == 3)) for dma in ARRAY.device.dmas)
    array = Platform(dataclasses.replace(ARRAY.device, dmas=dmas))
    first, second = (array.channel(3, Side.OUT, (0, 1), number, ()) for number in range(2))
    rates = {resource.name: resource.bytes_per_cycle for resource in array.resources()}
    # The port comes before DRAM: it is what pays for short runs.
    assert first.ports == second.ports
    assert [rates[port] for port in first.ports] == [6, 4, 4]
    other_side, other_column = array.channel(3, Side.IN, (0, 1), 0, ()), array.channel(3, Side.OUT, (0, 0), 0, ())
    assert first.ports[0] not in (*other_side.ports, *other_column.ports)


def test_seconds_round_up_to_whole_cycles() -> None:
    assert [ARRAY.cycles(seconds) for seconds in (0, 0.1e-9, 0.5e-9, 0.6e-9, 5e-9)] == [0, 1, 1, 2, 10]
