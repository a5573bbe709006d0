"""Functional runs: bytes go where the access patterns say, and what no right schedule does is reported."""

import ctypes
import dataclasses

import numpy as np
import pytest

from npuflow.errors import InputError
from npuflow.execute.limits import LimitError, Limits, ProgramFailedError, limited
from npuflow.simulate.kernels import Abi, KernelFunction, PythonKernels, idle_kernel
from npuflow.simulate.program import (
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
    FlatStream,
    Outside,
    Program,
    contiguous,
)
from npuflow.simulate.results import HazardKind
from npuflow.simulate.run import DeadlockError, execute, simulate

RANDOM = np.random.default_rng(7)


def copy_program(source: FlatAccess, target: FlatAccess, source_bytes: int, target_bytes: int) -> Program:
    return Program(
        (FlatEngine("out", (FlatSend("s", source),)), FlatEngine("in", (FlatReceive("s", target),))),
        memories=(FlatMemory("x", 3, source_bytes), FlatMemory("y", 3, target_bytes)),
        buffers=(FlatBuffer("x", "x", source_bytes), FlatBuffer("y", "y", target_bytes)),
        streams=(FlatStream("s", "out", ("in",)),),
    )


def test_a_transfer_transposes() -> None:
    x = RANDOM.integers(0, 1 << 30, (6, 8), np.int32)
    program = copy_program(FlatAccess("x", (8, 6), (1, 8), 4), contiguous("y", (8, 6), 4), x.nbytes, x.nbytes)
    y = execute(program, {"x": x}, {}).memories["y"].view(np.int32).reshape(8, 6)
    np.testing.assert_array_equal(y, x.T)


def test_a_transfer_packs() -> None:
    # 16 x 24 into 4 x 3 tiles of 4 x 8.
    x = RANDOM.integers(-128, 127, (16, 24), np.int8)
    source = FlatAccess("x", (4, 3, 4, 8), (4 * 24, 8, 24, 1), 1)
    program = copy_program(source, contiguous("y", (4, 3, 4, 8), 1), x.nbytes, x.nbytes)
    y = execute(program, {"x": x}, {}).memories["y"].view(np.int8).reshape(4, 3, 4, 8)
    np.testing.assert_array_equal(y, x.reshape(4, 4, 3, 8).transpose(0, 2, 1, 3))


def test_backward_strides_and_repeats() -> None:
    x = np.arange(6, dtype=np.int16)
    source = FlatAccess("x", (2, 6), (0, -1), 2, FlatAffine(5))
    y = execute(copy_program(source, contiguous("y", (12,), 2), 12, 24), {"x": x}, {}).memories["y"].view(np.int16)
    np.testing.assert_array_equal(y, np.tile(x[::-1], 2))


def test_long_streams_are_copied_whole() -> None:
    # More than the core stages at once, and neither end contiguous.
    x = RANDOM.integers(0, 255, (300, 700), np.uint8)
    program = copy_program(FlatAccess("x", (700, 300), (1, 700), 1), contiguous("y", (700, 300), 1), x.nbytes, x.nbytes)
    y = execute(program, {"x": x}, {}).memories["y"].reshape(700, 300)
    np.testing.assert_array_equal(y, x.T)


def test_zeros_outside_and_dropped_elements() -> None:
    # A 5 x 6 matrix as one tile of 8 x 8 with zeros around, and from it the 3 x 3 at its start.
    x = RANDOM.integers(1, 100, (5, 6), np.int32)
    limits = (FlatLimit((1, 0), FlatAffine(5)), FlatLimit((0, 1), FlatAffine(6)))
    padded = FlatAccess("x", (8, 8), (6, 1), 4, limits=limits, outside=Outside.ZERO)
    result = execute(copy_program(padded, contiguous("y", (8, 8), 4), 120, 256), {"x": x}, {})
    np.testing.assert_array_equal(result.memories["y"].view(np.int32).reshape(8, 8), np.pad(x, ((0, 3), (0, 2))))
    assert result.results.traffic["x"].read_bytes == 120

    dropped = FlatAccess(
        "y",
        (5, 6),
        (3, 1),
        4,
        limits=(FlatLimit((1, 0), FlatAffine(3)), FlatLimit((0, 1), FlatAffine(3))),
        outside=Outside.ZERO,
    )
    result = execute(copy_program(contiguous("x", (5, 6), 4), dropped, 120, 36), {"x": x}, {})
    np.testing.assert_array_equal(result.memories["y"].view(np.int32).reshape(3, 3), x[:3, :3])


def test_a_window_that_begins_before_its_matrix() -> None:
    # Rows -1 to 2 of 4: the first is cut off by a limit with a negative coefficient, or is zeros.
    x = np.arange(8, dtype=np.int32).reshape(4, 2)
    above = (FlatLimit((-1, 0), FlatAffine(0)),)  # index 0 is row -1
    window = FlatAccess("x", (4, 2), (2, 1), 4, FlatAffine(-2), limits=above, outside=Outside.ZERO)
    y = execute(copy_program(window, contiguous("y", (4, 2), 4), 32, 32), {"x": x}, {}).memories["y"].view(np.int32)
    np.testing.assert_array_equal(y.reshape(4, 2), np.pad(x[:3], ((1, 0), (0, 0))))
    cut = dataclasses.replace(window, outside=Outside.SKIP)
    y = execute(copy_program(cut, contiguous("y", (3, 2), 4), 32, 24), {"x": x}, {}).memories["y"].view(np.int32)
    np.testing.assert_array_equal(y.reshape(3, 2), x[:3])


@pytest.mark.parametrize("outside", Outside)
def test_a_window_wider_than_its_matrix(outside: Outside) -> None:
    # Rows -1 to 4 of 4, columns -2 to 3 of 3: both ends of both dimensions are outside.
    x = np.arange(1, 13, dtype=np.int32).reshape(4, 3)
    limits = tuple(
        FlatLimit(coefficients, FlatAffine(bound))
        for coefficients, bound in [((-1, 0), 0), ((1, 0), 5), ((0, -1), -1), ((0, 1), 5)]
    )
    window = FlatAccess("x", (6, 6), (3, 1), 4, FlatAffine(-3 - 2), limits=limits, outside=outside)
    expected = np.pad(x, ((1, 1), (2, 1))) if outside is Outside.ZERO else x
    y = contiguous("y", expected.shape, 4)
    executed = execute(copy_program(window, y, x.nbytes, expected.nbytes), {"x": x}, {})
    np.testing.assert_array_equal(executed.memories["y"].view(np.int32).reshape(expected.shape), expected)
    assert executed.results.traffic["x"].read_bytes == x.nbytes


def test_a_limit_that_leaves_nothing() -> None:
    # It mentions no dimension; what travels is zeros only.
    nothing = FlatAccess("x", (4,), (1,), 4, limits=(FlatLimit((0,), FlatAffine(0)),), outside=Outside.ZERO)
    executed = execute(copy_program(nothing, contiguous("y", (4,), 4), 16, 16), {"x": np.ones(4, np.int32)}, {})
    assert not executed.memories["y"].any()
    assert executed.results.traffic["x"].read_bytes == 0


# A product of 8 x 24 and 24 x 8 on one core, K in three tiles of 8, operands double-buffered.
M = N = 8
K, TILE = 24, 8
TILE_BYTES = M * TILE * 4


def matmul_program(kernel_cycles: int = 100) -> Program:
    turn = FlatAffine(0, (1,))
    a_send = FlatSend("a", FlatAccess("a", (M, TILE), (K, 1), 4, FlatAffine(0, (TILE,))), "read a")
    b_send = FlatSend("b", FlatAccess("b", (TILE, N), (N, 1), 4, FlatAffine(0, (TILE * N,))), "read b")
    a_slot, b_slot = contiguous("a l1", (M, TILE), 4, turn), contiguous("b l1", (TILE, N), 4, turn)
    acc = contiguous("acc", (M, N), 4)
    operands = (FlatOperand(a_slot), FlatOperand(b_slot), FlatOperand(acc, reads=True, writes=True))
    core = (
        FlatCompute("fill", 5, (FlatOperand(acc, reads=False, writes=True),)),
        FlatLoop(
            K // TILE,
            (
                FlatAcquire("a full"),
                FlatAcquire("b full"),
                FlatCompute("matmul", kernel_cycles, operands),
                FlatRelease("a empty"),
                FlatRelease("b empty"),
            ),
        ),
        FlatRelease("c full"),
    )
    turns = K // TILE
    a_fill = (FlatAcquire("a empty"), FlatReceive("a", a_slot), FlatRelease("a full"))
    b_fill = (FlatAcquire("b empty"), FlatReceive("b", b_slot), FlatRelease("b full"))
    return Program(
        (
            FlatEngine("a out", (FlatLoop(turns, (a_send,)),), bytes_per_cycle=4),
            FlatEngine("b out", (FlatLoop(turns, (b_send,)),), bytes_per_cycle=4),
            FlatEngine("a in", (FlatLoop(turns, a_fill),), bytes_per_cycle=4),
            FlatEngine("b in", (FlatLoop(turns, b_fill),), bytes_per_cycle=4),
            FlatEngine("core", core),
            FlatEngine("c out", (FlatAcquire("c full"), FlatSend("c", acc)), bytes_per_cycle=4),
            FlatEngine("c in", (FlatReceive("c", contiguous("c", (M, N), 4)),), bytes_per_cycle=4),
        ),
        memories=(
            FlatMemory("a", 3, M * K * 4),
            FlatMemory("b", 3, K * N * 4),
            FlatMemory("c", 3, M * N * 4),
            FlatMemory("l1", 1, 5 * TILE_BYTES),
        ),
        buffers=(
            FlatBuffer("a", "a", M * K * 4),
            FlatBuffer("b", "b", K * N * 4),
            FlatBuffer("c", "c", M * N * 4),
            FlatBuffer("a l1", "l1", TILE_BYTES, depth=2),
            FlatBuffer("b l1", "l1", TILE_BYTES, 2 * TILE_BYTES, depth=2),
            FlatBuffer("acc", "l1", TILE_BYTES, 4 * TILE_BYTES),
        ),
        semaphores=tuple(
            FlatSemaphore(f"{name} {state}", 2 * (state == "empty" and name != "c"))
            for name in "abc"
            for state in ("empty", "full")
        ),
        streams=(
            FlatStream("a", "a out", ("a in",)),
            FlatStream("b", "b out", ("b in",)),
            FlatStream("c", "c out", ("c in",)),
        ),
    )


def matmul(a: np.ndarray, b: np.ndarray, acc: np.ndarray) -> None:
    acc += a @ b


def fill(acc: np.ndarray) -> None:
    acc[...] = 0


def run_matmul(program: Program) -> tuple[np.ndarray, np.ndarray, tuple]:
    a = RANDOM.integers(-9, 9, (M, K), np.int32)
    b = RANDOM.integers(-9, 9, (K, N), np.int32)
    kernels = PythonKernels()
    steps = {step.kernel: step for step in all_computes(program)}
    int32 = np.dtype(np.int32)
    functions = {
        "fill": kernels.wrap(fill, steps["fill"], [int32]),
        "matmul": kernels.wrap(matmul, steps["matmul"], [int32] * 3),
    }
    executed = execute(program, {"a": a, "b": b}, functions)
    kernels.raise_first()
    c = executed.memories["c"].view(np.int32).reshape(M, N)
    return c, a @ b, executed.results.hazards


def all_computes(program: Program) -> list[FlatCompute]:
    found: list[FlatCompute] = []

    def visit(steps: tuple) -> None:
        for step in steps:
            if isinstance(step, FlatLoop):
                visit(step.body)
            elif isinstance(step, FlatCompute):
                found.append(step)

    for engine in program.engines:
        visit(engine.body)
    return found


def with_engine(program: Program, name: str, body: tuple) -> Program:
    engines = tuple(dataclasses.replace(e, body=body) if e.name == name else e for e in program.engines)
    return dataclasses.replace(program, engines=engines)


def test_a_matmul_computes_the_product() -> None:
    program = matmul_program()
    c, expected, hazards = run_matmul(program)
    np.testing.assert_array_equal(c, expected)
    assert hazards == ()


def test_timing_and_functional_runs_take_the_same_time() -> None:
    program = matmul_program()
    nothing = PythonKernels().wrap(lambda: None, FlatCompute("k", 0), [])
    x = np.zeros(M * K, np.int32)
    executed = execute(program, {"a": x, "b": x}, {"fill": nothing, "matmul": nothing}, trace=True).results
    timed = simulate(program, trace=True)
    assert timed.cycles == executed.cycles
    assert timed.trace is not None
    assert executed.trace is not None
    np.testing.assert_array_equal(timed.trace.rows, executed.trace.rows)


def test_a_missing_wait_is_a_race() -> None:
    # The core doesn't wait for its operands: it reads slot 0 while the first tile is on its way.
    program = matmul_program()
    core = next(e for e in program.engines if e.name == "core").body
    loop = core[1]
    assert isinstance(loop, FlatLoop)
    hasty = FlatLoop(loop.count, loop.body[2:])
    _, _, hazards = run_matmul(with_engine(program, "core", (core[0], hasty, core[2])))
    races = [str(h) for h in hazards if h.kind is HazardKind.RACE]
    assert any("'matmul' of 'core'" in race and "'receive a' of 'a in'" in race for race in races), races
    assert any(h.kind is HazardKind.UNWRITTEN and "matmul" in h.step for h in hazards)


def edits(body: tuple, kinds: tuple[type, ...]) -> list[tuple[str, tuple]]:
    """Every body with one step of these kinds left out, and which."""
    found: list[tuple[str, tuple]] = []
    for i, step in enumerate(body):
        if isinstance(step, kinds):
            found.append((str(step), body[:i] + body[i + 1 :]))
        if isinstance(step, FlatLoop):
            found += [
                (what, (*body[:i], FlatLoop(step.count, inner), *body[i + 1 :]))
                for what, inner in edits(step.body, kinds)
            ]
    return found


FAULTS = [
    pytest.param(engine.name, body, id=f"{engine.name} without {what}")
    for engine in matmul_program().engines
    for what, body in edits(engine.body, (FlatAcquire, FlatRelease))
]


@pytest.mark.parametrize("kernel_cycles", [0, 1, 64, 1000])
@pytest.mark.parametrize(("engine", "body"), FAULTS)
def test_every_missing_step_of_synchronisation_is_caught(engine: str, body: tuple, kernel_cycles: int) -> None:
    # Whatever the timing: a wait that happens to be needless at these speeds is missed all the same.
    program = with_engine(matmul_program(kernel_cycles), engine, body)
    try:
        _, _, hazards = run_matmul(program)
    except DeadlockError:
        return
    assert any(h.kind is HazardKind.RACE for h in hazards)


def test_there_are_faults_to_catch() -> None:
    # a, b: 2 in the channel, 2 in the core each; c: a release and an acquire.
    assert len(FAULTS) == 10


def test_a_buffer_reused_early_is_a_race() -> None:
    # The in-channel of `a` doesn't wait for an empty slot: it comes round to the slot that the core reads.
    program = matmul_program()
    receive = FlatReceive("a", contiguous("a l1", (M, TILE), 4, FlatAffine(0, (1,))))
    program = with_engine(program, "a in", (FlatLoop(K // TILE, (receive, FlatRelease("a full"))),))
    _, _, hazards = run_matmul(program)
    assert any(h.kind is HazardKind.RACE and {"a in", "core"} <= set(f"{h.step} {h.other}".split("'")) for h in hazards)


def test_a_wrong_address_gives_a_wrong_result_or_a_race() -> None:
    # `b`'s buffer overlaps the accumulator.
    program = matmul_program()
    moved = tuple(
        dataclasses.replace(b, address_bytes=3 * TILE_BYTES) if b.name == "b l1" else b for b in program.buffers
    )
    c, expected, hazards = run_matmul(dataclasses.replace(program, buffers=moved))
    assert (c != expected).any()
    assert any(h.kind is HazardKind.RACE and h.memory == "l1" for h in hazards)


def test_a_wrong_stride_leaves_its_slot() -> None:
    program = matmul_program()
    wide = FlatSend("a", FlatAccess("a", (M, TILE), (K + 1, 1), 4, FlatAffine(0, (TILE,))), "read a")
    with pytest.raises(
        InputError, match=r"'read a' of 'a out' touches bytes 64 to 795 of a slot of 'a', which has 768"
    ):
        run_matmul(with_engine(program, "a out", (FlatLoop(K // TILE, (wide,)),)))


def test_data_that_nobody_reads_is_reported() -> None:
    # Two tiles to one slot with nothing in between.
    x = np.zeros(16, np.int32)
    y = contiguous("y", (16,), 4)
    program = copy_program(contiguous("x", (16,), 4), y, 64, 64)
    twice = with_engine(program, "out", (FlatLoop(2, (FlatSend("s", contiguous("x", (16,), 4)),)),))
    twice = with_engine(twice, "in", (FlatLoop(2, (FlatReceive("s", y),)),))
    hazards = execute(twice, {"x": x}, {}).results.hazards
    assert [str(h) for h in hazards] == [
        "'receive s' of 'in' overwrites bytes 0 to 63 of 'y' at cycle 128 before anything has read them"
    ]


def test_what_kernels_keep_to_themselves_need_not_be_read() -> None:
    # A maximum that finds a place is begun again for the next row; somebody who only reads it makes it a result.
    y = contiguous("y", (16,), 4)
    begin = FlatCompute("k", 1, (FlatOperand(y, reads=False, writes=True),))
    update = FlatCompute("k", 1, (FlatOperand(y, reads=True, writes=True),))
    program = Program(
        (FlatEngine("core", (FlatLoop(2, (begin, update)),)),),
        memories=(FlatMemory("y", 1, 64),),
        buffers=(FlatBuffer("y", "y", 64),),
    )
    kernel = PythonKernels().wrap(lambda _: None, update, [np.dtype(np.int32)])
    assert execute(program, {}, {"k": kernel}).results.hazards == ()
    reading = FlatCompute("k", 1, (FlatOperand(y),))
    program = with_engine(program, "core", (FlatLoop(2, (begin, update)), reading))
    assert [h.kind for h in execute(program, {}, {"k": kernel}).results.hazards] == [HazardKind.LOST]


def test_interleaved_writes_do_not_race() -> None:
    # Two channels fill the even and the odd rows of one buffer at the same time; shifted by one row they would race.
    def program(second_row: int) -> Program:
        rows = [FlatAccess("y", (4, 8), (16, 1), 4, FlatAffine(8 * row)) for row in (0, second_row)]
        sends = tuple(FlatEngine(f"out {i}", (FlatSend(f"s{i}", contiguous("x", (4, 8), 4)),)) for i in range(2))
        receives = tuple(FlatEngine(f"in {i}", (FlatReceive(f"s{i}", rows[i]),)) for i in range(2))
        return Program(
            sends + receives,
            memories=(FlatMemory("x", 3, 128), FlatMemory("y", 2, 512)),
            buffers=(FlatBuffer("x", "x", 128), FlatBuffer("y", "y", 512)),
            streams=tuple(FlatStream(f"s{i}", f"out {i}", (f"in {i}",)) for i in range(2)),
        )

    x = np.zeros(32, np.int32)
    assert execute(program(1), {"x": x}, {}).results.hazards == ()
    (hazard,) = execute(program(2), {"x": x}, {}).results.hazards
    assert hazard.kind is HazardKind.RACE
    assert {hazard.step, hazard.other} == {"'receive s0' of 'in 0'", "'receive s1' of 'in 1'"}


def test_unwritten_bytes_travel_silently_until_a_kernel_reads_them() -> None:
    y = contiguous("y", (16,), 4)
    program = copy_program(contiguous("x", (16,), 4), y, 64, 64)
    program = with_engine(program, "in", (FlatReceive("s", y), FlatCompute("k", 1, (FlatOperand(y),))))
    kernel = PythonKernels().wrap(lambda _: None, FlatCompute("k", 1, (FlatOperand(y),)), [np.dtype(np.int32)])
    executed = execute(program, {}, {"k": kernel})
    assert [h.kind for h in executed.results.hazards] == [HazardKind.UNWRITTEN]
    assert set(executed.memories["y"]) == {0xFF}
    assert execute(program, {"x": np.zeros(16, np.int32)}, {"k": kernel}).results.hazards == ()


def test_kernels_take_memref_descriptors() -> None:
    # The descriptor of a 2 x 3 tile with row stride 5, offset 4 elements into its buffer.
    seen: list[tuple[int, ...]] = []
    operand = FlatAccess("y", (2, 3), (5, 1), 4, FlatAffine(4))
    import ctypes

    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))))
    def kernel(arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        seen.append(tuple(arguments[0][0][i] for i in range(7)))

    function = KernelFunction(ctypes.cast(kernel, ctypes.c_void_p).value or 0, Abi.MEMREFS, kernel, ours=True)
    program = Program(
        (FlatEngine("core", (FlatCompute("k", 1, (FlatOperand(operand),)),)),),
        memories=(FlatMemory("y", 1, 64),),
        buffers=(FlatBuffer("y", "y", 64),),
    )
    executed = execute(program, {"y": np.zeros(16, np.int32)}, {"k": function})
    first = executed.memories["y"].ctypes.data + 4 * 4
    assert seen == [(first, first, 0, 2, 3, 5, 1)]


def test_an_exception_in_a_kernel_is_raised() -> None:
    program = Program((FlatEngine("core", (FlatLoop(3, (FlatCompute("k", 1),)),)),))
    kernels = PythonKernels()

    def fails() -> None:
        raise ZeroDivisionError

    execute(program, {}, {"k": kernels.wrap(fails, FlatCompute("k", 1), [])})
    with pytest.raises(ZeroDivisionError):
        kernels.raise_first()


# A kernel that is ours runs here, one of an input's in a child.
HERE = idle_kernel()
APART = dataclasses.replace(HERE, ours=False)


def with_a_kernel(program: Program) -> Program:
    return dataclasses.replace(program, engines=(*program.engines, FlatEngine("core", (FlatCompute("k", 1),))))


def test_in_a_child_everything_is_as_it_is_here() -> None:
    x = np.arange(16, dtype=np.uint8)
    program = with_a_kernel(copy_program(contiguous("x", (16,), 1), contiguous("y", (16,), 1), 16, 16))
    here, apart = (execute(program, {"x": x}, {"k": kernel}, trace=True) for kernel in (HERE, APART))
    assert apart.memories["y"].tolist() == x.tolist()
    assert here.results.trace is not None
    assert apart.results.trace is not None
    assert here.results.trace.events() == apart.results.trace.events()
    assert dataclasses.replace(here.results, trace=None) == dataclasses.replace(apart.results, trace=None)


def test_hazards_and_deadlocks_come_from_a_child_too() -> None:
    y = contiguous("y", (16,), 1)
    kernel = FlatEngine("core", (FlatCompute("k", 1, (FlatOperand(y),)),))
    program = Program((kernel,), memories=(FlatMemory("y", 1, 16),), buffers=(FlatBuffer("y", "y", 16),))
    here, apart = (execute(program, {}, {"k": kernel}).results.hazards for kernel in (HERE, APART))
    assert [hazard.kind for hazard in apart] == [HazardKind.UNWRITTEN]
    assert here == apart
    stuck = with_a_kernel(Program((FlatEngine("waits", (FlatAcquire("s"),)),), semaphores=(FlatSemaphore("s", 0, 1),)))
    with pytest.raises(DeadlockError, match="waits"):
        execute(stuck, {}, {"k": APART})


def test_a_kernel_that_crashes_is_an_error() -> None:
    program = with_a_kernel(Program(()))
    abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
    assert abort is not None
    with pytest.raises(ProgramFailedError, match="the functional run crashed with SIGABRT"):
        execute(program, {}, {"k": KernelFunction(abort)})


def test_memories_that_a_machine_lacks_are_refused_with_numbers() -> None:
    program = Program((), memories=(FlatMemory("x", 1, 1 << 20),))
    with limited(Limits(memory_bytes=1 << 20)), pytest.raises(LimitError, match="needs 2 MiB of memory, has 1 MiB"):
        execute(program, {}, {})


def test_a_step_that_takes_no_time_still_happens() -> None:
    program = Program((FlatEngine("core", (FlatLoop(3, (FlatCompute("k", 0),)),)),))
    calls: list[int] = []
    kernel = PythonKernels().wrap(lambda: calls.append(1), FlatCompute("k", 0), [])
    assert execute(program, {}, {"k": kernel}).results.cycles == 0
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("inputs", "kernels", "message"),
    [
        ({"z": np.zeros(4, np.uint8)}, {"k": KernelFunction(1)}, "unknown memory 'z'; hint: did you mean y"),
        ({"y": np.zeros(4, np.uint8)}, {"k": KernelFunction(1)}, "memory 'y' has 64 bytes, its data 4"),
        ({}, {}, "kernel 'k' has no function; hint: there are none"),
    ],
)
def test_wrong_data(inputs: dict, kernels: dict, message: str) -> None:
    program = Program((FlatEngine("core", (FlatControl(1), FlatCompute("k", 1))),), memories=(FlatMemory("y", 1, 64),))
    with pytest.raises(InputError, match=message):
        execute(program, inputs, kernels)


def test_memories_too_large_for_a_functional_run() -> None:
    program = Program((), memories=(FlatMemory("y", 3, 1 << 40),))
    with pytest.raises(InputError, match=r"the functional run needs 2048 GiB of memory, has .* GiB available"):
        execute(program, {}, {})


def test_more_engines_than_a_functional_run_takes() -> None:
    program = Program(tuple(FlatEngine(f"e{i}", ()) for i in range(5000)))
    assert simulate(program).cycles == 0
    with pytest.raises(InputError, match="the program has 5000 engines, a functional run at most 4096"):
        execute(program, {}, {})


def test_inputs_are_not_changed() -> None:
    x = np.arange(16, dtype=np.int32)
    program = copy_program(contiguous("x", (16,), 4), contiguous("y", (16,), 4), 64, 64)
    executed = execute(program, {"x": x}, {})
    executed.memories["x"][:] = 0
    np.testing.assert_array_equal(x, np.arange(16))


@pytest.mark.parametrize("waits", [True, False])
def test_what_is_received_waits_for_what_its_sender_waited_for(waits: bool) -> None:
    """A kernel works where a transfer then writes, in another buffer; only the sender waits for the kernel."""
    begin = (FlatAcquire("done"),) if waits else (FlatControl(100),)
    work = FlatCompute("work", cycles=10, operands=(FlatOperand(contiguous("old", (4,), 4), reads=False, writes=True),))
    use = FlatCompute("work", cycles=10, operands=(FlatOperand(contiguous("old", (4,), 4)),))
    program = Program(
        (
            FlatEngine("core", (work, use, FlatRelease("done"))),
            FlatEngine("out", (*begin, FlatSend("s", contiguous("x", (4,), 4)))),
            FlatEngine("in", (FlatReceive("s", contiguous("new", (4,), 4)),)),
        ),
        memories=(FlatMemory("x", 3, 16), FlatMemory("l1", 1, 16)),
        buffers=(FlatBuffer("x", "x", 16), FlatBuffer("old", "l1", 16), FlatBuffer("new", "l1", 16)),
        semaphores=(FlatSemaphore("done"),),
        streams=(FlatStream("s", "out", ("in",)),),
    )
    executed = execute(program, {"x": np.zeros(4, np.int32)}, {"work": idle_kernel()})
    assert {hazard.kind for hazard in executed.results.hazards} == (set() if waits else {HazardKind.RACE})
