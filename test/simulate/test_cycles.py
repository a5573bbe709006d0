"""Cycle counts that a person can derive, on the `toy` device.

Its numbers: a channel moves 4 bytes per cycle, DRAM 8 bytes per cycle in all, lanes between levels 16 per column; no
latencies, no start-up; setting up a descriptor takes 100 cycles. "Tile" below is 256 bytes: 64 cycles on a channel.
"""

import dataclasses

import pytest

from npuflow.simulate.platform import DRAM_TOTAL, Platform, Side
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
    FlatOperand,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    FlatStream,
    Outside,
    Program,
    Resource,
    contiguous,
)
from npuflow.simulate.run import simulate
from npuflow.target import load_device

TOY = Platform(load_device("toy"))
TILE_BYTES = 256
DRAM = FlatMemory("dram", 3, 1 << 20)


def tile_of(buffer: str, tile_bytes: int = TILE_BYTES) -> FlatAccess:
    return contiguous(buffer, (tile_bytes // 4,), 4)


def next_slot(buffer: str) -> FlatAccess:
    """The slot after the last, in the innermost of one loop."""
    return contiguous(buffer, (TILE_BYTES // 4,), 4, slot=FlatAffine(0, (1,)))


def reader(column: int, number: int, body: tuple[FlatStep, ...]) -> FlatEngine:
    return TOY.channel(3, Side.OUT, (0, column), number, body)


def into_l2(column: int, number: int, body: tuple[FlatStep, ...]) -> FlatEngine:
    return TOY.channel(2, Side.IN, (0, column), number, body)


def loads(sizes: tuple[int, ...]) -> Program:
    """Transfers of these many bytes from DRAM to L2, each on channels of its own, all at once."""
    engines: list[FlatEngine] = []
    streams = []
    for i, size in enumerate(sizes):
        column, number = i % 2, i // 2
        send, receive = FlatSend(f"s{i}", tile_of("x", size)), FlatReceive(f"s{i}", tile_of(f"l2 {i}", size))
        ends = reader(column, number, (send,)), into_l2(column, number, (receive,))
        engines += ends
        streams.append(FlatStream(f"s{i}", ends[0].name, (ends[1].name,), (TOY.link(3, 2, (0, column)),)))
    return Program(
        tuple(engines),
        memories=(DRAM, *(FlatMemory(f"l2 {i}", 2, size) for i, size in enumerate(sizes))),
        buffers=(
            FlatBuffer("x", "dram", 1 << 20),
            *(FlatBuffer(f"l2 {i}", f"l2 {i}", size) for i, size in enumerate(sizes)),
        ),
        resources=TOY.resources(),
        streams=tuple(streams),
    )


def producer_consumer(turns: int, depth: int, kernel_cycles: int) -> Program:
    """L2 to L1 in tiles, a kernel on each: the core's in-channel fills what the core empties."""
    out = TOY.channel(2, Side.OUT, (0, 0), 0, (FlatLoop(turns, (FlatSend("s", tile_of("l2")),)),))
    fill = (FlatAcquire("empty"), FlatReceive("s", next_slot("l1")), FlatRelease("full"))
    work = (
        FlatAcquire("full"),
        FlatCompute("kernel", kernel_cycles, (FlatOperand(next_slot("l1")),)),
        FlatRelease("empty"),
    )
    into = TOY.channel(1, Side.IN, (0, 0), 0, (FlatLoop(turns, fill),))
    core = TOY.core("core", (0, 0), (FlatLoop(turns, work),))
    return Program(
        (out, into, core),
        memories=(FlatMemory("l2", 2, TILE_BYTES), FlatMemory("l1", 1, depth * TILE_BYTES)),
        buffers=(FlatBuffer("l2", "l2", TILE_BYTES), FlatBuffer("l1", "l1", TILE_BYTES, depth=depth)),
        semaphores=(FlatSemaphore("empty", depth, cause=Cause.SPACE), FlatSemaphore("full", cause=Cause.DATA)),
        resources=TOY.resources(),
        streams=(FlatStream("s", out.name, (into.name,), (TOY.link(2, 1, (0, 0)),)),),
    )


def test_one_transfer() -> None:
    # 1024 bytes at the channel's 4 bytes per cycle.
    results = simulate(loads((1024,)))
    assert results.cycles == 256
    assert results.traffic["x"].read_bytes == 1024
    assert results.level_traffic(2).written_bytes == 1024
    # DRAM gives 8 bytes per cycle and was half used.
    assert {u.name: u.share for u in results.utilisations()}[DRAM_TOTAL] == 0.5


def test_one_transfer_after_its_descriptor_is_set_up() -> None:
    # 100 cycles of set-up, then 1024 bytes at 4 per cycle.
    program = loads((1024,))
    setup = TOY.control(
        (FlatControl(TOY.cycles(TOY.device.control.descriptor_seconds), "descriptor"), FlatRelease("task"))
    )
    read = dataclasses.replace(program.engines[0], body=(FlatAcquire("task"), *program.engines[0].body))
    program = dataclasses.replace(
        program, engines=(read, program.engines[1], setup), semaphores=(FlatSemaphore("task", cause=Cause.TASK),)
    )
    results = simulate(program)
    assert results.cycles == 100 + 256
    assert results.engine(read.name).spent[Cause.TASK] == 100
    assert results.engine(into_l2(0, 0, ()).name).spent[Cause.PARTNER] == 100


def test_two_transfers_fit_into_dram() -> None:
    # Two channels want 4 + 4 bytes per cycle, and DRAM has 8.
    assert simulate(loads((1024, 1024))).cycles == 256


def test_three_transfers_contend_for_dram() -> None:
    # 3072 bytes at 8 per cycle; alone each would take 256 cycles, so 128 are contention.
    results = simulate(loads((1024, 1024, 1024)))
    assert results.cycles == 384
    assert results.engines[0].spent[Cause.TRANSFER] == 256
    assert results.engines[0].spent[Cause.CONTENTION] == 128


def test_shares_are_dealt_anew_when_a_transfer_ends() -> None:
    # All three move 8/3 bytes per cycle until the one of 512 bytes ends: 192 cycles. The others have 512 bytes left
    # and now 4 bytes per cycle each, the channels' limit: 128 cycles more.
    results = simulate(loads((512, 1024, 1024)))
    assert results.engines[0].finished == 192
    assert results.cycles == 192 + 128


def test_a_slow_transfer_leaves_its_share_to_the_others() -> None:
    # A channel of 1 byte per cycle cannot use its third of 8; the other two then get (8 - 1) / 2 = 3.5 each, so their
    # 1024 bytes take 292.57 cycles, and its 256 bytes 256.
    program = loads((256, 1024, 1024))
    slow = dataclasses.replace(program.engines[0], bytes_per_cycle=1)
    results = simulate(dataclasses.replace(program, engines=(slow, *program.engines[1:])))
    assert results.engines[0].finished == 256
    # After cycle 256 the others have 1024 - 896 = 128 bytes left, and 4 bytes per cycle: 32 cycles.
    assert results.cycles == 256 + 32


def test_short_runs_cost_the_time_of_their_overhead() -> None:
    # Runs of 16 bytes with 48 bytes' overhead take DRAM's time of 64 bytes: at 8 bytes per cycle 2 bytes really move,
    # so 1024 bytes take 512 cycles instead of 256.
    program = loads((1024,))
    rows = FlatAccess("x", (64, 4), (100, 1), 4, run_overhead_bytes=48)
    read = dataclasses.replace(program.engines[0], body=(FlatSend("s0", rows),))
    program = dataclasses.replace(program, engines=(read, program.engines[1]))
    assert simulate(program).cycles == 512


@pytest.mark.parametrize(
    ("depth", "kernel_cycles", "cycles"),
    [
        # One slot: filling (64) and working (100) take turns: 8 * 164.
        (1, 100, 8 * (64 + 100)),
        # Two slots: after the first fill the core never waits: 64 + 8 * 100.
        (2, 100, 64 + 8 * 100),
        # A fast kernel: the channel never waits, and the last tile's kernel comes at the end: 8 * 64 + 10.
        (2, 10, 8 * 64 + 10),
        # One slot and a fast kernel: 8 * (64 + 10).
        (1, 10, 8 * (64 + 10)),
        # A third slot gains nothing when every turn takes the same.
        (3, 100, 64 + 8 * 100),
    ],
)
def test_a_double_buffered_pair(depth: int, kernel_cycles: int, cycles: int) -> None:
    assert simulate(producer_consumer(8, depth, kernel_cycles)).cycles == cycles


def test_waits_are_attributed_to_what_is_missing() -> None:
    # Kernel 100, fill 64, two slots, 8 turns. The core waits 64 for the first tile only. The channel fills at 0 and
    # 64, then finds both slots taken: the third is free at 164, the n-th at 164 + 100 (n - 3), so it waits
    # 164 - 128 = 36 cycles six times.
    results = simulate(producer_consumer(8, 2, 100))
    core, into = results.engines[2], results.engines[1]
    assert core.spent[Cause.DATA] == 64
    assert core.spent[Cause.KERNEL] == core.busy_cycles == 800
    assert core.stall_cycles == 64
    assert into.spent[Cause.SPACE] == 36 * 6
    assert into.spent[Cause.TRANSFER] == 8 * 64
    assert results.engines[0].spent[Cause.PARTNER] == 36 * 6
    assert results.semaphore_waits == {"empty": 216, "full": 64}
    assert results.unbalanced_semaphores() == ()


def multicast(delays: tuple[int, ...]) -> Program:
    """One out-channel to the in-channels of the cores of a column, each of which comes after a delay."""
    ends = [
        TOY.channel(1, Side.IN, (row, 0), 0, (FlatControl(delay), FlatReceive("s", tile_of(f"l1 {row}"))))
        for row, delay in enumerate(delays)
    ]
    out = TOY.channel(2, Side.OUT, (0, 0), 0, (FlatSend("s", tile_of("l2")),))
    return Program(
        (out, *ends),
        memories=(FlatMemory("l2", 2, TILE_BYTES), *(FlatMemory(f"l1 {r}", 1, TILE_BYTES) for r in range(len(delays)))),
        buffers=(
            FlatBuffer("l2", "l2", TILE_BYTES),
            *(FlatBuffer(f"l1 {r}", f"l1 {r}", TILE_BYTES) for r in range(len(delays))),
        ),
        resources=TOY.resources(),
        streams=(FlatStream("s", out.name, tuple(e.name for e in ends), (TOY.link(2, 1, (0, 0)),)),),
    )


def test_a_multicast_takes_as_long_as_one_transfer() -> None:
    results = simulate(multicast((0, 0)))
    assert results.cycles == 64
    assert results.stream_bytes["s"] == TILE_BYTES
    assert results.level_traffic(2).read_bytes == TILE_BYTES
    assert results.level_traffic(1).written_bytes == 2 * TILE_BYTES


def test_a_multicast_waits_for_its_last_receiver() -> None:
    # The second core's channel comes 30 cycles later.
    results = simulate(multicast((0, 30)))
    assert results.cycles == 30 + 64
    assert results.engines[1].spent[Cause.PARTNER] == 30


def chain(tiles: int, kernel_cycles: int) -> Program:
    """DRAM to L2 to L1 to a core that works, two slots at each level."""
    read = reader(0, 0, (FlatLoop(tiles, (FlatSend("in", tile_of("x")),)),))
    fill_l2 = (FlatAcquire("l2 empty"), FlatReceive("in", next_slot("l2")), FlatRelease("l2 full"))
    drain_l2 = (FlatAcquire("l2 full"), FlatSend("on", next_slot("l2")), FlatRelease("l2 empty"))
    fill_l1 = (FlatAcquire("l1 empty"), FlatReceive("on", next_slot("l1")), FlatRelease("l1 full"))
    work = (
        FlatAcquire("l1 full"),
        FlatCompute("kernel", kernel_cycles, (FlatOperand(next_slot("l1")),)),
        FlatRelease("l1 empty"),
    )
    l2_in = into_l2(0, 0, (FlatLoop(tiles, fill_l2),))
    l2_out = TOY.channel(2, Side.OUT, (0, 0), 0, (FlatLoop(tiles, drain_l2),))
    l1_in = TOY.channel(1, Side.IN, (0, 0), 0, (FlatLoop(tiles, fill_l1),))
    core = TOY.core("core", (0, 0), (FlatLoop(tiles, work),))
    return Program(
        (read, l2_in, l2_out, l1_in, core),
        memories=(DRAM, FlatMemory("l2", 2, 2 * TILE_BYTES), FlatMemory("l1", 1, 2 * TILE_BYTES)),
        buffers=(
            FlatBuffer("x", "dram", 1 << 20),
            FlatBuffer("l2", "l2", TILE_BYTES, depth=2),
            FlatBuffer("l1", "l1", TILE_BYTES, depth=2),
        ),
        semaphores=tuple(
            FlatSemaphore(
                f"{level} {what}", 2 * (what == "empty"), cause=Cause.SPACE if what == "empty" else Cause.DATA
            )
            for level in ("l2", "l1")
            for what in ("empty", "full")
        ),
        resources=TOY.resources(),
        streams=(
            FlatStream("in", read.name, (l2_in.name,), (TOY.link(3, 2, (0, 0)),)),
            FlatStream("on", l2_out.name, (l1_in.name,), (TOY.link(2, 1, (0, 0)),)),
        ),
    )


def test_a_back_pressured_chain() -> None:
    # Slow core (200 per tile): the first tile arrives in L1 after 64 + 64, then the core works without a pause.
    results = simulate(chain(10, 200))
    assert results.cycles == 64 + 64 + 10 * 200
    # Two slots per level: tile i (from 0) can be worked on at 128 + 200 i. L1's slot for tile i >= 2 is free when
    # tile i - 2 is done, 128 + 200 (i - 1); it then takes 64 to leave L2, so L2's slot for tile i >= 4 is free at
    # 128 + 200 (i - 3) + 64. The last tile, 9, is read then, and has left DRAM 64 later.
    assert results.engines[0].finished == 128 + 200 * 6 + 64 + 64


def test_a_chain_that_is_bound_by_its_transfers() -> None:
    # Fast core: DRAM's channel never waits; the last tile still goes on to L1 and through the kernel.
    assert simulate(chain(10, 20)).cycles == 10 * 64 + 64 + 20


def accumulate(blocks: int, k_tiles: int, acc_depth: int) -> Program:
    """For each block: fill the accumulator (8), k_tiles matmuls (100 each) on streamed tiles, then write it back."""
    work = (
        FlatAcquire("acc empty"),
        FlatCompute("fill", 8),
        FlatLoop(k_tiles, (FlatAcquire("full"), FlatCompute("matmul", 100), FlatRelease("empty"))),
        FlatRelease("acc full"),
    )
    fill = (FlatAcquire("empty"), FlatReceive("a", tile_of("a")), FlatRelease("full"))
    drain = (FlatAcquire("acc full"), FlatSend("c", tile_of("c")), FlatRelease("acc empty"))
    out = TOY.channel(2, Side.OUT, (0, 0), 0, (FlatLoop(blocks * k_tiles, (FlatSend("a", tile_of("l2")),)),))
    into = TOY.channel(1, Side.IN, (0, 0), 0, (FlatLoop(blocks * k_tiles, fill),))
    back = TOY.channel(1, Side.OUT, (0, 0), 0, (FlatLoop(blocks, drain),))
    home = TOY.channel(2, Side.IN, (0, 0), 0, (FlatLoop(blocks, (FlatReceive("c", tile_of("l2")),)),))
    core = TOY.core("core", (0, 0), (FlatLoop(blocks, work),))
    return Program(
        (out, into, back, home, core),
        memories=(FlatMemory("l2", 2, TILE_BYTES), FlatMemory("l1", 1, 4 * TILE_BYTES)),
        buffers=(
            FlatBuffer("l2", "l2", TILE_BYTES),
            FlatBuffer("a", "l1", TILE_BYTES, depth=2),
            FlatBuffer("c", "l1", TILE_BYTES, address_bytes=2 * TILE_BYTES, depth=2),
        ),
        semaphores=(
            FlatSemaphore("empty", 2, cause=Cause.SPACE),
            FlatSemaphore("full", cause=Cause.DATA),
            FlatSemaphore("acc empty", acc_depth, cause=Cause.SPACE),
            FlatSemaphore("acc full", cause=Cause.DATA),
        ),
        streams=(FlatStream("a", out.name, (into.name,)), FlatStream("c", back.name, (home.name,))),
    )


@pytest.mark.parametrize(
    ("acc_depth", "cycles"),
    [
        # Double-buffered: the first tile takes 64 (longer than the fill of 8, which it hides), then 3 blocks of
        # 5 * 100; each further fill takes 8, as the operands are there by then; the last write-back 64.
        (2, 64 + 3 * 5 * 100 + 2 * 8 + 64),
        # Single: each block's write-back (64) stands between it and the next fill.
        (1, 64 + 3 * 5 * 100 + 2 * (64 + 8) + 64),
    ],
)
def test_fill_and_drain_of_a_k_loop(acc_depth: int, cycles: int) -> None:
    assert simulate(accumulate(3, 5, acc_depth)).cycles == cycles


def test_ends_of_a_stream_may_cut_it_differently() -> None:
    # The sender's four transfers of 256 bytes are one of 1024 for the receiver; the sender rests 10 after each.
    send = TOY.channel(2, Side.OUT, (0, 0), 0, (FlatLoop(4, (FlatSend("s", tile_of("l2")), FlatControl(10))),))
    receive = TOY.channel(1, Side.IN, (0, 0), 0, (FlatReceive("s", tile_of("l1", 1024)),))
    results = simulate(
        Program(
            (send, receive),
            memories=(FlatMemory("l2", 2, 256), FlatMemory("l1", 1, 1024)),
            buffers=(FlatBuffer("l2", "l2", 256), FlatBuffer("l1", "l1", 1024)),
            streams=(FlatStream("s", send.name, (receive.name,)),),
        )
    )
    assert results.engines[1].finished == 4 * 64 + 3 * 10
    assert results.engines[1].spent[Cause.PARTNER] == 3 * 10


def with_latency(rest: int) -> Program:
    """Two transfers of 64 cycles with `rest` between them, over 30 cycles of latency."""
    send = FlatEngine(
        "out", (FlatSend("s", tile_of("a")), FlatControl(rest), FlatSend("s", tile_of("a"))), bytes_per_cycle=4
    )
    receive = FlatEngine("in", (FlatLoop(2, (FlatReceive("s", tile_of("b")),)),), bytes_per_cycle=4)
    return Program(
        (dataclasses.replace(send, latency_cycles=20), receive),
        memories=(FlatMemory("a", 2, 256), FlatMemory("b", 1, 256)),
        buffers=(FlatBuffer("a", "a", 256), FlatBuffer("b", "b", 256)),
        streams=(FlatStream("s", "out", ("in",), latency_cycles=10),),
    )


@pytest.mark.parametrize(
    ("rest", "cycles"),
    [
        # The first byte takes 20 + 10 cycles; back to back, the second transfer's requests are under way already.
        (0, 30 + 64 + 64),
        # After a rest of 12 cycles the pipe has drained by 12.
        (12, 30 + 64 + 12 + 12 + 64),
        # After a long rest all of the latency is paid again.
        (500, 30 + 64 + 500 + 30 + 64),
    ],
)
def test_latency_is_paid_by_what_the_sender_idled(rest: int, cycles: int) -> None:
    assert simulate(with_latency(rest)).cycles == cycles


@pytest.mark.parametrize(("near", "cycles"), [("", 20 + 10 + 128), ("a", 10 + 64), ("b", 20 + 10 + 128)])
def test_what_is_near_takes_neither_ports_nor_latency(near: str, cycles: int) -> None:
    """256 bytes through a port of 2 bytes per cycle and channels of 4; which memory is near matters where one reads."""
    program = with_latency(0)
    send = dataclasses.replace(program.engines[0], body=(FlatSend("s", tile_of("a")),), ports=("port",))
    receive = dataclasses.replace(program.engines[1], body=(FlatReceive("s", tile_of("b")),))
    memories = tuple(dataclasses.replace(one, is_near=one.name == near) for one in program.memories)
    port = (Resource("port", 2),)
    results = simulate(dataclasses.replace(program, engines=(send, receive), memories=memories, resources=port))
    assert results.cycles == cycles


def test_start_up_comes_before_each_transfer() -> None:
    # 16 cycles of start-up at the slower end, then 64 of data, twice.
    program = with_latency(0)
    send = dataclasses.replace(program.engines[0], latency_cycles=0, start_cycles=5)
    receive = dataclasses.replace(program.engines[1], start_cycles=16)
    streams = (dataclasses.replace(program.streams[0], latency_cycles=0),)
    results = simulate(dataclasses.replace(program, engines=(send, receive), streams=streams))
    assert results.cycles == 2 * (16 + 64)
    assert results.engines[0].spent[Cause.PARTNER] == 2 * (16 - 5)


def edge_program(outside: Outside) -> Program:
    """Three tiles of 4 rows x 16 of a 10 x 16 matrix of i32: the last has 2 rows inside."""
    rows = FlatLimit((1, 0), FlatAffine(10, (-4,)))
    tile = FlatAccess("x", (4, 16), (16, 1), 4, FlatAffine(0, (64,)), limits=(rows,), outside=outside)
    into = FlatAccess("y", (4, 16), (16, 1), 4, limits=(rows,) if outside is Outside.SKIP else (), outside=outside)
    return Program(
        (
            FlatEngine("out", (FlatLoop(3, (FlatSend("s", tile),)),), bytes_per_cycle=4, ports=("port",)),
            FlatEngine("in", (FlatLoop(3, (FlatReceive("s", into),)),), bytes_per_cycle=8),
        ),
        memories=(FlatMemory("x", 3, 640), FlatMemory("y", 2, 256)),
        buffers=(FlatBuffer("x", "x", 640), FlatBuffer("y", "y", 256)),
        resources=(Resource("port", 4),),
        streams=(FlatStream("s", "out", ("in",)),),
    )


def test_tiles_at_the_edge_are_cut_or_padded() -> None:
    # A row is 64 bytes, 16 cycles. Cut: 10 rows travel. Padded: 12 rows travel, and 10 are read.
    cut, padded = simulate(edge_program(Outside.SKIP)), simulate(edge_program(Outside.ZERO))
    assert (cut.cycles, cut.traffic["x"].read_bytes, cut.traffic["y"].written_bytes) == (160, 640, 640)
    assert (padded.cycles, padded.traffic["x"].read_bytes, padded.traffic["y"].written_bytes) == (192, 640, 768)


def test_semaphores_serve_who_came_first() -> None:
    # Both want 2; the first in the list of engines comes first, though the second could have gone on with 1.
    big = FlatEngine("big", (FlatAcquire("s", 2), FlatControl(10)))
    small = FlatEngine("small", (FlatAcquire("s", 1), FlatControl(1)))
    give = FlatEngine("give", (FlatLoop(3, (FlatControl(5), FlatRelease("s"))),))
    results = simulate(Program((big, small, give), semaphores=(FlatSemaphore("s"),)))
    assert results.engine("big").finished == 5 + 5 + 10
    assert results.engine("small").finished == 15 + 1


def test_a_bounded_queue_of_tasks() -> None:
    # The processor sets up a task in 10; the channel takes 64 for each of 6. With a queue of 2 the processor runs
    # ahead until two tasks wait; the channel starts at 10 and never waits again.
    queue = (FlatAcquire("queue space"), FlatControl(10), FlatRelease("queue"))
    send = FlatEngine(
        "out",
        (FlatLoop(6, (FlatAcquire("queue"), FlatSend("s", tile_of("a")), FlatRelease("queue space"))),),
        bytes_per_cycle=4,
    )
    receive = FlatEngine("in", (FlatLoop(6, (FlatReceive("s", tile_of("b")),)),), bytes_per_cycle=4)
    program = dataclasses.replace(
        with_latency(0),
        engines=(send, receive, TOY.control((FlatLoop(6, queue),))),
        semaphores=(FlatSemaphore("queue space", 2, cause=Cause.TASK), FlatSemaphore("queue", cause=Cause.TASK)),
        streams=(FlatStream("s", "out", ("in",)),),
    )
    results = simulate(program)
    assert results.cycles == 10 + 6 * 64
    # Tasks 3 to 6 are set up when a slot of the queue is free again: at 74, 138, 202, 266.
    assert results.engine("control").finished == 266 + 10


def test_an_empty_loop_and_an_empty_program() -> None:
    assert (
        simulate(Program((FlatEngine("e", (FlatLoop(0, (FlatControl(5),)), FlatLoop(3, ()), FlatControl(7))),))).cycles
        == 7
    )
    assert simulate(Program(())).cycles == 0


def test_the_trace_tells_what_took_time() -> None:
    results = simulate(producer_consumer(2, 1, 100), trace=True)
    assert results.trace is not None
    events = [(e.engine, e.step, e.begin, e.end) for e in results.trace.events()]
    out, into, core = (engine.name for engine in results.engines)
    # Tile 0: filled 0-64, worked on 64-164; tile 1: filled 164-228, worked on 228-328.
    assert [e for e in events if e[0] == core] == [
        (core, "acquire full", 0, 64),
        (core, "kernel", 64, 164),
        (core, "acquire full", 164, 228),
        (core, "kernel", 228, 328),
    ]
    assert [e for e in events if e[0] == into] == [
        (into, "receive s", 0, 64),
        (into, "acquire empty", 64, 164),
        (into, "receive s", 164, 228),
    ]
    # The sender is there at 64, but its second tile only moves from 164 on.
    assert [e for e in events if e[0] == out] == [(out, "send s", 0, 64), (out, "send s", 164, 228)]


def test_runs_are_identical() -> None:
    program = loads((512, 1024, 768, 1024))
    first, second = simulate(program, trace=True), simulate(program, trace=True)
    assert first.trace is not None
    assert second.trace is not None
    assert first.trace.rows.tobytes() == second.trace.rows.tobytes()
    assert dataclasses.replace(first, trace=None) == dataclasses.replace(second, trace=None)
