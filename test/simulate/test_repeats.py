"""What repeats itself is not simulated again: the results are those of simulating all of it."""

from __future__ import annotations

from dataclasses import replace
from math import isclose

from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatCompute,
    FlatControl,
    FlatEngine,
    FlatLimit,
    FlatLoop,
    FlatMemory,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStream,
    Outside,
    Program,
    Resource,
    contiguous,
)
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import RunLimits, simulate

TILE = 64
FEW_STEPS = RunLimits(steps=10_000, trace_events=50)
EVENTS = RunLimits(trace_events=50)


def squaring(tiles: int) -> Program:
    """The program of docs/simulator.md for so many tiles: one core works on them, two slots at a time."""
    turn = FlatAffine(0, (1,))
    slot = contiguous("tiles", (TILE,), 4, slot=turn)
    tile_of_x = FlatAccess("x", (TILE,), (1,), 4, offset=FlatAffine(0, (TILE,)))
    tile_of_y = replace(tile_of_x, buffer="y")
    fill = (FlatAcquire("empty"), FlatReceive("to core", slot), FlatRelease("full"))
    work = (FlatAcquire("full"), FlatCompute("square", 100), FlatRelease("done"))
    drain = (FlatAcquire("done"), FlatSend("from core", slot), FlatRelease("empty"))
    return Program(
        engines=(
            FlatEngine("tile out", (FlatLoop(tiles, (FlatSend("to core", tile_of_x),)),), bytes_per_cycle=4),
            FlatEngine("core in", (FlatLoop(tiles, fill),), bytes_per_cycle=4),
            FlatEngine("core", (FlatLoop(tiles, work),)),
            FlatEngine("core out", (FlatLoop(tiles, drain),), bytes_per_cycle=4),
            FlatEngine("tile in", (FlatLoop(tiles, (FlatReceive("from core", tile_of_y),)),), bytes_per_cycle=4),
        ),
        memories=(
            FlatMemory("x", 2, 4 * TILE * tiles),
            FlatMemory("y", 2, 4 * TILE * tiles),
            FlatMemory("l1", 1, 8 * TILE),
        ),
        buffers=(
            FlatBuffer("x", "x", 4 * TILE * tiles),
            FlatBuffer("y", "y", 4 * TILE * tiles),
            FlatBuffer("tiles", "l1", 4 * TILE, depth=2),
        ),
        semaphores=(
            FlatSemaphore("empty", initial=2, cause=Cause.SPACE),
            FlatSemaphore("full", cause=Cause.DATA),
            FlatSemaphore("done", cause=Cause.DATA),
        ),
        streams=(FlatStream("to core", "tile out", ("core in",)), FlatStream("from core", "core out", ("tile in",))),
    )


def assert_same(found: RunResults, expected: RunResults) -> None:
    """All but what sums of fractions are rounded to."""
    for name, taken in found.resource_bytes.items():
        assert isclose(taken, expected.resource_bytes[name], rel_tol=1e-9), name
    assert replace(found, resource_bytes={}, trace=None) == replace(expected, resource_bytes={}, trace=None)


def test_a_billion_tiles_take_few_steps() -> None:
    tiles = 1_000_000_000
    results = simulate(squaring(tiles), limits=FEW_STEPS)
    # 328 cycles for the first two tiles, then a turn of 228 for each two (docs/simulator.md).
    assert results.cycles == 328 + (tiles // 2 - 1) * 228
    assert results.operations == tiles * (1 + 3 + 3 + 3 + 1)
    core = results.engines[2]
    assert core.spent[Cause.KERNEL] == 100 * tiles
    assert sum(core.spent.values()) == core.finished


def test_a_trace_has_its_events_before_anything_is_skipped() -> None:
    results = simulate(squaring(1000), trace=True, limits=FEW_STEPS)
    every = simulate(squaring(1000), trace=True, limits=EVENTS, skips_repeats=False)
    assert results.trace is not None
    assert every.trace is not None
    assert results.trace.events() == every.trace.events()
    assert len(results.trace) == FEW_STEPS.trace_events
    assert_same(results, every)


def test_what_an_edge_cuts_off_is_simulated() -> None:
    # 1000 blocks of 64, of which 63,937 elements exist: the last block has one, and what it takes differs.
    program = squaring(1000)
    last = FlatLimit((1,), FlatAffine(63_937, (-TILE,)))
    cut = FlatAccess("x", (TILE,), (1,), 4, offset=FlatAffine(0, (TILE,)), limits=(last,), outside=Outside.ZERO)
    sender = replace(program.engines[0], body=(FlatLoop(1000, (FlatSend("to core", cut),)),))
    program = replace(program, engines=(sender, *program.engines[1:]))
    results = simulate(program, limits=FEW_STEPS)
    assert results.traffic["x"].read_bytes == 4 * 63_937
    assert_same(results, simulate(program, skips_repeats=False))


@st.composite
def chains(draw: st.DrawFn) -> Program:
    """Chains that stream blocks of pieces from DRAM, whose rate they share, through slots to kernels and back."""
    number = st.integers(1, 6)
    engines: list[FlatEngine] = []
    memories, buffers, semaphores, streams = [], [], [], []
    for chain in range(draw(st.integers(1, 3))):
        blocks, pieces, size, depth = draw(st.integers(1, 40)), draw(number), 8 * draw(number), draw(st.integers(1, 3))
        bound = draw(st.sampled_from([None, (blocks * size - draw(number), -size), (draw(number), 1)]))
        limits = () if bound is None else (FlatLimit((1,), FlatAffine(bound[0], (bound[1],))),)
        source = FlatAccess(f"x{chain}", (size,), (1,), 4, offset=FlatAffine(0, (size,)), limits=limits,
                            outside=Outside.ZERO)  # fmt: skip
        slot = contiguous(f"tiles{chain}", (size,), 4, slot=FlatAffine(0, (pieces, 1)))
        fill = (FlatAcquire(f"empty{chain}"), FlatReceive(f"in{chain}", slot), FlatRelease(f"full{chain}"))
        work = (FlatAcquire(f"full{chain}"), FlatCompute("k", draw(st.integers(0, 90))), FlatRelease(f"done{chain}"))
        drain = (FlatAcquire(f"done{chain}"), FlatSend(f"out{chain}", slot), FlatRelease(f"empty{chain}"))
        pause = FlatControl(draw(st.integers(0, 40)))
        sink = contiguous(f"y{chain}", (size,), 4)
        rate = draw(st.sampled_from([1.5, 3.7, 4.0]))
        ports = ("dram",)

        def nest(*steps: FlatAcquire | FlatReceive | FlatRelease | FlatCompute | FlatSend | FlatControl) -> FlatLoop:
            return FlatLoop(blocks, (FlatLoop(pieces, steps),))  # noqa: B023  (called within the turn)

        engines += [
            FlatEngine(f"a{chain}", (nest(pause, FlatSend(f"in{chain}", source)),), bytes_per_cycle=rate, ports=ports,
                       start_cycles=draw(number), latency_cycles=draw(st.integers(0, 50))),
            FlatEngine(f"b{chain}", (nest(*fill),), bytes_per_cycle=rate),
            FlatEngine(f"c{chain}", (nest(*work),)),
            FlatEngine(f"d{chain}", (nest(*drain),), bytes_per_cycle=rate),
            FlatEngine(f"e{chain}", (nest(FlatReceive(f"out{chain}", sink)),), bytes_per_cycle=rate, ports=ports),
        ]  # fmt: skip
        memories += [
            FlatMemory(f"x{chain}", 3, 4 * size * blocks),
            FlatMemory(f"y{chain}", 3, 4 * size),
            FlatMemory(f"l{chain}", 1, 4 * size * depth),
        ]
        buffers += [
            FlatBuffer(f"x{chain}", f"x{chain}", 4 * size * blocks),
            FlatBuffer(f"y{chain}", f"y{chain}", 4 * size),
            FlatBuffer(f"tiles{chain}", f"l{chain}", 4 * size, depth=depth),
        ]
        semaphores += [
            FlatSemaphore(f"empty{chain}", initial=depth, cause=Cause.SPACE),
            FlatSemaphore(f"full{chain}", cause=Cause.DATA),
            FlatSemaphore(f"done{chain}", cause=Cause.DATA),
        ]
        streams += [
            FlatStream(f"in{chain}", f"a{chain}", (f"b{chain}",), latency_cycles=draw(number)),
            FlatStream(f"out{chain}", f"d{chain}", (f"e{chain}",)),
        ]
    dram = Resource("dram", draw(st.sampled_from([2.0, 5.3, 7.1, 40.0])))
    return Program(
        tuple(engines), tuple(memories), tuple(buffers), tuple(semaphores), (dram,), tuple(streams)
    )  # fmt: skip


@drawn(few=60, many=3000)
@given(chains())
def test_results_are_those_of_simulating_everything(program: Program) -> None:
    assert_same(simulate(program), simulate(program, skips_repeats=False))
