"""Ways by which a phase brings something for a later one: channels that lead there, and leave packets one."""

from __future__ import annotations

import pytest

from npuflow.simulate.bringing import bringing
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.prefetch import Arrival, Brought, Landing, Prefetch
from npuflow.simulate.program import FlatAccess, FlatAffine, FlatBuffer, FlatEngine, FlatSend, FlatStream, Program
from npuflow.target import load_device

LEVEL = 2


def brought(count: int) -> Brought:
    """So many transfers from the second column's shim to the memory tile above it."""
    ring = FlatBuffer("ring", "L2 1", 1024, depth=count)
    path = FlatStream("in", "shim dma 1 out 0", ("memory tile dma 1 in 0",), ("shim stream 1 in",), 8)
    arrivals = []
    for slot in range(count):
        read = FlatAccess("arg0", (1024,), (1,), 1, FlatAffine(1024 * slot))
        landing = Landing(1, ring, FlatAccess("ring", (1024,), (1,), 1, slot=FlatAffine(slot)))
        arrivals.append(Arrival(read, (landing,), path, (0, 1), 100))
    return Brought(7, Prefetch("arg0", 1024 * count, tuple(arrivals)))


def phase(*streams: tuple[int, str]) -> Program:
    """A phase whose second shim sends through some of its channels, each to a memory tile's."""
    platform = Platform(load_device("npu2"))
    paths, engines = [], [platform.control(())]
    for number, end in streams:
        sender = platform.channel_name(platform.device.dram_level, Side.OUT, (0, 1), number)
        paths.append(FlatStream(f"own {number}", sender, (end,)))
        own = FlatSend(f"own {number}", FlatAccess("arg", (1,), (1,), 1))
        engines.append(platform.channel(platform.device.dram_level, Side.OUT, (0, 1), number, (own,)))
        engines.append(FlatEngine(end, ()))
    return Program(tuple(engines), streams=tuple(paths))


def ports_of(program: Program, count: int = 2) -> set[str]:
    found = bringing(program, load_device("npu2"), LEVEL, brought(count))
    return {s.sender for s in found.program.streams if s.name.startswith("next %7")}


@pytest.mark.parametrize(
    ("streams", "port"),
    [
        ((), "shim dma 1 out 0"),
        # One that leads there anyway.
        (((0, "memory tile dma 1 in 3"),), "shim dma 1 out 0"),
        (((1, "memory tile dma 1 in 2"),), "shim dma 1 out 1"),
        # The other one leads elsewhere.
        (((0, "memory tile dma 2 in 0"), (1, "memory tile dma 1 in 2")), "shim dma 1 out 1"),
    ],
)
def test_channels_that_lead_there_are_taken(streams: tuple[tuple[int, str], ...], port: str) -> None:
    assert ports_of(phase(*streams)) == {port}


def test_the_last_channel_of_a_shim_is_left_for_packets() -> None:
    found = bringing(phase((0, "memory tile dma 2 in 0")), load_device("npu2"), LEVEL, brought(2))
    assert not found.brought.prefetch.arrivals
    assert not found.chains


def test_one_descriptor_of_the_tile_for_each_slot() -> None:
    found = bringing(phase(), load_device("npu2"), LEVEL, brought(3))
    assert [(one.column, one.descriptors, one.instead) for one in found.chains] == [(1, 3, None)]


def test_programs_that_bring_the_same_in_one_way_are_the_same() -> None:
    one_leads_there = phase((1, "memory tile dma 1 in 2"))
    for program, is_same in ((one_leads_there, True), (phase(), False)):
        lanes = [bringing(program, load_device("npu2"), LEVEL, brought(2), lane, early=not lane) for lane in (0, 1)]
        assert (lanes[0].way == lanes[1].way) is (lanes[0].program == lanes[1].program) is is_same


def test_what_lands_alike_in_two_columns_is_alike() -> None:
    first = brought(2)
    moved = [
        Arrival(
            one.read,
            tuple(Landing(2, FlatBuffer("other", "L2 2", 1024, depth=2), each.access) for each in one.landings),
            FlatStream("on", "shim dma 2 out 0", ("memory tile dma 2 in 0",)),
            (0, 2),
            one.cycles,
        )
        for one in first.prefetch.arrivals
    ]
    both = Brought(7, Prefetch("arg0", 2048, (*first.prefetch.arrivals, *moved)))
    found = bringing(phase(), load_device("npu2"), LEVEL, both)
    assert {one.column for one in found.chains} == {1, 2}
    assert len({one.content for one in found.chains}) == 1


def test_what_comes_behind_what_is_left_out_is_left_out() -> None:
    # Slots are full one after the other: a later transfer of a channel can't come without the first.
    first, later = brought(2).prefetch.arrivals
    moved = Arrival(
        first.read,
        tuple(Landing(2, one.buffer, one.access) for one in first.landings),
        FlatStream("on", first.path.sender, ("memory tile dma 2 in 0",)),
        first.tile,
        first.cycles,
    )
    leads_back = phase((0, "memory tile dma 1 in 0"))
    both = bringing(leads_back, load_device("npu2"), LEVEL, Brought(7, Prefetch("arg0", 2048, (moved, later))))
    assert not both.brought.prefetch.arrivals
    alone = bringing(leads_back, load_device("npu2"), LEVEL, Brought(7, Prefetch("arg0", 2048, (later,))))
    assert alone.brought.prefetch.arrivals == (later,)
