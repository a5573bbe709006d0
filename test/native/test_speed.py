"""How fast the core is, on a whole array's schedule, and that its memory doesn't grow with the problem."""

import resource

import pytest
from stopwatch import best_of

from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatBuffer,
    FlatCompute,
    FlatEngine,
    FlatLoop,
    FlatMemory,
    FlatOperand,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStream,
    Program,
    contiguous,
)
from npuflow.simulate.run import simulate
from npuflow.target import load_device

pytestmark = pytest.mark.speed

TILE = 64
TILE_BYTES = TILE * TILE


def next_tile(buffer: str) -> FlatAccess:
    return contiguous(buffer, (TILE, TILE), 1, FlatAffine(0, (1,)))


def matmul_program(size: int) -> Program:
    """Square i8 matmul on all of npu2, operands from the memory tiles: rows of cores share A, columns share B."""
    array = Platform(load_device("npu2"))
    rows, columns = array.device.rows, array.device.columns
    turns = (size // TILE) ** 3 // array.device.cores
    engines: list[FlatEngine] = []
    memories: list[FlatMemory] = []
    buffers: list[FlatBuffer] = []
    semaphores: list[FlatSemaphore] = []
    streams: list[FlatStream] = []

    def multicast(name: str, source: tuple[int, int], targets: list[tuple[int, int]], number: int) -> None:
        memories.append(FlatMemory(f"l2 {name}", 2, TILE_BYTES))
        buffers.append(FlatBuffer(f"l2 {name}", f"l2 {name}", TILE_BYTES))
        send = FlatSend(name, contiguous(f"l2 {name}", (TILE, TILE), 1))
        out = array.channel(2, Side.OUT, source, number, (FlatLoop(turns, (send,)),))
        ends = []
        for tile in targets:
            slot = f"{name[0]} {tile}"
            fill = (FlatAcquire(f"{slot} empty"), FlatReceive(name, next_tile(slot)), FlatRelease(f"{slot} full"))
            ends.append(array.channel(1, Side.IN, tile, int(name[0] == "b"), (FlatLoop(turns, fill),)))
            buffers.append(FlatBuffer(slot, f"l1 {tile}", TILE_BYTES, 2 * TILE_BYTES * (name[0] == "b"), depth=2))
            semaphores.append(FlatSemaphore(f"{slot} empty", 2, cause=Cause.SPACE))
            semaphores.append(FlatSemaphore(f"{slot} full", cause=Cause.DATA))
        engines.extend((out, *ends))
        streams.append(FlatStream(name, out.name, tuple(e.name for e in ends), (array.link(2, 1, source),), 8))

    for row in range(rows):
        multicast(f"a{row}", (0, row), [(row, c) for c in range(columns)], 0)
    for column in range(columns):
        multicast(f"b{column}", (0, column), [(r, column) for r in range(rows)], 1)
    for tile in ((r, c) for r in range(rows) for c in range(columns)):
        memories.append(FlatMemory(f"l1 {tile}", 1, 4 * TILE_BYTES))
        operands = (FlatOperand(next_tile(f"a {tile}")), FlatOperand(next_tile(f"b {tile}")))
        work = (
            FlatAcquire(f"a {tile} full"),
            FlatAcquire(f"b {tile} full"),
            FlatCompute("matmul", TILE**3 // 512 + 100, operands),
            FlatRelease(f"a {tile} empty"),
            FlatRelease(f"b {tile} empty"),
        )
        engines.append(array.core("core", tile, (FlatLoop(turns, work),)))
    return Program(
        tuple(engines), tuple(memories), tuple(buffers), tuple(semaphores), array.resources(), tuple(streams), 1.8e9
    )


def test_a_whole_array_at_five_million_operations_a_second() -> None:
    program = matmul_program(4096)
    results = simulate(program)
    seconds = best_of(3, lambda: simulate(program, skips_repeats=False))
    # 8192 turns of 32 cores with 5 steps, of 12 senders with 1 and of 64 receivers with 3.
    assert results.operations == 8192 * (32 * 5 + 12 + 64 * 3)
    assert results.operations / seconds >= 5e6
    assert seconds <= 1
    assert best_of(3, lambda: simulate(program)) < seconds / 10


def test_memory_does_not_grow_with_the_problem() -> None:
    simulate(matmul_program(512))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    simulate(matmul_program(4096))
    # 512 times the turns; a single word per turn of an engine would be 7 MiB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096
