"""Random programs: none crashes the core or runs forever, and what runs obeys the model's invariants."""

import dataclasses
import math
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.errors import InputError
from npuflow.simulate.kernels import PythonKernels
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
)
from npuflow.simulate.run import RunLimits, execute, simulate

LIMITS = RunLimits(steps=20_000, trace_events=100)
NOTHING = PythonKernels().wrap(lambda: None, FlatCompute("k", 0), [])

small = st.integers(0, 6)
hostile = st.one_of(small, st.sampled_from([-1, -(1 << 40), 1 << 20, 1 << 46, 1 << 62, 1 << 63, -(1 << 63), 1 << 70]))
Draw = Callable[[st.SearchStrategy], object]


def programs(number: st.SearchStrategy[int], names: int) -> st.SearchStrategy[Program]:
    """Programs over `names` things of each kind whose numbers come from `number`."""

    def name(prefix: str) -> st.SearchStrategy[str]:
        return st.sampled_from([f"{prefix}{i}" for i in range(names)])

    def several(strategy: st.SearchStrategy, most: int = 4) -> st.SearchStrategy[tuple]:
        return st.lists(strategy, max_size=most).map(tuple)

    affine = st.builds(FlatAffine, number, several(number, 2))
    limit = st.builds(FlatLimit, several(number, 3), affine)
    element = st.sampled_from([1, 4, 4, 4])
    pattern = st.integers(0, 3).flatmap(
        lambda rank: st.builds(
            FlatAccess,
            buffer=name("b"),
            sizes=st.tuples(*[number] * rank),
            strides=st.tuples(*[number] * rank),
            element_bytes=element,
            offset=affine,
            slot=affine,
            limits=st.one_of(st.just(()), several(limit, 2)),
            outside=st.sampled_from(Outside),
        )
    )
    operand = st.builds(FlatOperand, pattern, st.booleans(), st.booleans())
    step = st.one_of(
        st.builds(FlatAcquire, name("s"), number),
        st.builds(FlatRelease, name("s"), number),
        st.builds(FlatSend, name("w"), pattern),
        st.builds(FlatReceive, name("w"), pattern),
        st.builds(FlatCompute, st.just("k"), number, several(operand, 2)),
        st.builds(FlatControl, number),
    )
    body = st.recursive(
        several(step), lambda inner: st.builds(FlatLoop, number, inner).map(lambda loop: (loop,)), max_leaves=3
    )
    rate = (
        st.sampled_from([0.0, 0.5, 1.0, 4.0, 1e30, float("nan")])
        if number is hostile
        else st.sampled_from([0.5, 1.0, 4.0])
    )

    def assemble(draw: Draw) -> Program:
        count = range(names)
        return Program(
            tuple(
                FlatEngine(f"e{i}", draw(body), bytes_per_cycle=draw(rate), ports=draw(several(name("r"), 2)),
                       start_cycles=draw(number), latency_cycles=draw(number))
                for i in count
            ),
            memories=tuple(FlatMemory(f"m{i}", i, draw(st.one_of(number, st.just(256)))) for i in count),
            buffers=tuple(
                FlatBuffer(f"b{i}", draw(name("m")), draw(st.one_of(number, st.just(64))), draw(number), draw(number))
                for i in count
            ),
            semaphores=tuple(FlatSemaphore(f"s{i}", draw(number), cause=Cause.DATA) for i in count),
            resources=tuple(Resource(f"r{i}", draw(rate)) for i in count),
            streams=tuple(
                FlatStream(f"w{i}", draw(name("e")), *(draw(several(name(of), 2)) for of in "er"), draw(number))
                for i in count
            ),
        )  # fmt: skip

    return st.composite(assemble)()


def check_invariants(program: Program) -> None:
    """All of an engine's time until it finished is accounted for, and a functional run takes the same time."""
    results = simulate(program, trace=True, limits=LIMITS)
    for engine in results.engines:
        assert sum(engine.spent.values()) == engine.finished, engine
        assert all(cycles >= 0 for cycles in engine.spent.values()), engine
    assert results.cycles == max((engine.finished for engine in results.engines), default=0)
    data = {memory.name: np.zeros(memory.bytes, np.uint8) for memory in program.memories[:1]}
    executed = execute(program, data, {"k": NOTHING}, limits=dataclasses.replace(LIMITS, steps=1_000_000))
    assert executed.results.cycles == results.cycles


@drawn(few=100, many=10_000)
@given(programs(hostile, 3))
def test_hostile_programs_end(program: Program) -> None:
    with suppress(InputError):
        simulate(program, trace=True, limits=LIMITS)


@drawn(few=100, many=10_000)
@given(programs(small, 3))
def test_small_programs_end(program: Program) -> None:
    with suppress(InputError):
        check_invariants(program)


@st.composite
def moving_programs(draw: Draw) -> Program:
    """Programs that do run: streams between engines that share resources, whose ends agree on what travels."""
    wires, rate = draw(st.integers(1, 6)), st.sampled_from([1.0, 4.0])
    rates = [draw(st.sampled_from([0.5, 1.0, 3.0, 8.0])) for _ in range(3)]
    engines: list[FlatEngine] = []
    streams: list[FlatStream] = []
    turn = FlatAffine(0, (1,))
    for w in range(wires):
        turns = draw(st.integers(1, 5))
        rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 8))
        pieces = draw(st.sampled_from([1, rows]))
        source = FlatAccess(
            f"x{w}", (rows, columns), (draw(st.integers(8, 11)), 1), 1, slot=turn, run_overhead_bytes=draw(small)
        )
        piece = FlatAccess(f"y{w}", (rows // pieces, columns), (8, 1), 1, slot=turn)
        fill: tuple[FlatStep, ...] = (FlatAcquire(f"empty{w}"), FlatReceive(f"w{w}", piece), FlatRelease(f"full{w}"))
        drain: tuple[FlatStep, ...] = (
            FlatAcquire(f"full{w}"),
            FlatCompute("k", draw(st.integers(0, 40)), (FlatOperand(piece),)),
            FlatRelease(f"empty{w}"),
        )
        ports = tuple(draw(st.sets(st.sampled_from(["r0", "r1", "r2"]))))
        engines += [
            FlatEngine(f"out{w}", (FlatLoop(turns, (FlatSend(f"w{w}", source),)),), bytes_per_cycle=draw(rate),
                   ports=ports, start_cycles=draw(small), latency_cycles=draw(small)),
            FlatEngine(f"in{w}", (FlatLoop(turns * pieces, fill),), bytes_per_cycle=4.0, start_cycles=draw(small)),
            FlatEngine(f"core{w}", (FlatLoop(turns * pieces, drain),)),
        ]  # fmt: skip
        streams.append(FlatStream(f"w{w}", f"out{w}", (f"in{w}",), latency_cycles=draw(small)))
    depth = draw(st.integers(1, 3))
    each = range(wires)
    return Program(
        tuple(engines),
        memories=(FlatMemory("x", 3, wires * 128), FlatMemory("y", 1, wires * 64 * depth)),
        buffers=tuple(FlatBuffer(f"x{w}", "x", 64, 128 * w, 2) for w in each)
        + tuple(FlatBuffer(f"y{w}", "y", 64, 64 * depth * w, depth) for w in each),
        semaphores=tuple(FlatSemaphore(f"empty{w}", depth, cause=Cause.SPACE) for w in each)
        + tuple(FlatSemaphore(f"full{w}", cause=Cause.DATA) for w in each),
        resources=tuple(Resource(f"r{i}", rate) for i, rate in enumerate(rates)),
        streams=tuple(streams),
    )


@drawn(few=100, many=10_000)
@given(moving_programs())
def test_moving_programs_obey_the_model(program: Program) -> None:
    check_invariants(program)
    results = simulate(program)
    sent = sum(results.stream_bytes.values())
    assert sent == results.level_traffic(3).read_bytes == results.level_traffic(1).written_bytes
    for resource in program.resources:
        assert results.resource_bytes[resource.name] <= resource.bytes_per_cycle * results.cycles * (1 + 1e-9) + 1e-6
    data = {"x": np.zeros(program.memories[0].bytes, np.uint8)}
    assert execute(program, data, {"k": NOTHING}).results.hazards == ()


@drawn(few=100, many=10_000)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 4)), min_size=1, max_size=6),
    st.integers(1, 12),
)
def test_pipelines_agree_with_their_recurrence(stages: list[tuple[int, int]], turns: int) -> None:
    """Stage i of turn t begins when its last turn, the stage before it and the slot it fills allow.

    `stages` are (cycles, depth of the buffer behind the stage); end[i][t] is the textbook max-plus recurrence.
    """
    engines = []
    for i, (cycles, _) in enumerate(stages):
        first, last = i == 0, i == len(stages) - 1
        before: tuple[FlatStep, ...] = () if first else (FlatAcquire(f"full{i - 1}"),)
        space: tuple[FlatStep, ...] = () if last else (FlatAcquire(f"empty{i}"),)
        after: tuple[FlatStep, ...] = () if first else (FlatRelease(f"empty{i - 1}"),)
        done: tuple[FlatStep, ...] = () if last else (FlatRelease(f"full{i}"),)
        engines.append(FlatEngine(f"e{i}", (FlatLoop(turns, (*before, *space, FlatControl(cycles), *after, *done)),)))
    semaphores = [FlatSemaphore(f"empty{i}", depth) for i, (_, depth) in enumerate(stages[:-1])]
    semaphores += [FlatSemaphore(f"full{i}") for i in range(len(stages) - 1)]
    results = simulate(Program(tuple(engines), semaphores=tuple(semaphores)))

    end = [[0] * turns for _ in stages]
    for t in range(turns):
        for i, (cycles, depth) in enumerate(stages):
            begin = max(end[i][t - 1] if t else 0, end[i - 1][t] if i else 0)
            if i + 1 < len(stages) and t >= depth:
                begin = max(begin, end[i + 1][t - depth])
            end[i][t] = begin + cycles
    assert [engine.finished for engine in results.engines] == [row[-1] for row in end]


def fair_ends(flows: list[tuple[int, float, frozenset[int]]], rates: list[float]) -> list[float]:
    """When flows of (bytes, limit, resources) end that all start at 0: fair shares, ends in whole cycles.

    A flow keeps its share until the cycle in which it ends is over, as in the simulator: that can make one flow later
    and another, which shares something else with the one made later, earlier than in exact time.
    """
    left = {f: float(size) for f, (size, _, _) in enumerate(flows)}
    ends, now = [0.0] * len(flows), 0.0
    while left:
        rate, open_flows, free = dict.fromkeys(left, 0.0), set(left), list(rates)
        while open_flows:
            steps = [flows[f][1] - rate[f] for f in open_flows]
            for r in range(len(rates)):
                users = [f for f in open_flows if r in flows[f][2]]
                steps += [free[r] / len(users)] if users else []
            step = max(min(steps), 0.0)
            for f in open_flows:
                rate[f] += step
                for r in flows[f][2]:
                    free[r] -= step
            open_flows = {
                f for f in open_flows if rate[f] < flows[f][1] - 1e-9 and all(free[r] > 1e-9 for r in flows[f][2])
            }
        end = math.ceil(now + min(left[f] / rate[f] for f in left) - 1e-6)
        step, now = end - now, float(end)
        for f in list(left):
            left[f] -= rate[f] * step
            if left[f] < 1e-6:
                ends[f] = now
                del left[f]
    return ends


@drawn(few=100, many=10_000)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 2000),
            st.sampled_from([0.5, 1.0, 2.5, 4.0]),
            st.frozensets(st.integers(0, 2), max_size=3),
        ),
        min_size=1,
        max_size=8,
    ),
    st.lists(st.sampled_from([0.75, 2.0, 5.0, 9.0]), min_size=3, max_size=3),
)
def test_shares_agree_with_water_filling(flows: list[tuple[int, float, frozenset[int]]], rates: list[float]) -> None:
    engines: list[FlatEngine] = []
    for f, (size, limit, used) in enumerate(flows):
        tile = FlatAccess("b", (size,), (1,), 1)
        ports = tuple(f"r{r}" for r in sorted(used))
        engines.append(FlatEngine(f"out{f}", (FlatSend(f"s{f}", tile),), bytes_per_cycle=limit, ports=ports))
        engines.append(FlatEngine(f"in{f}", (FlatReceive(f"s{f}", tile),), bytes_per_cycle=limit))
    program = Program(
        tuple(engines),
        memories=(FlatMemory("m", 1, 2000),),
        buffers=(FlatBuffer("b", "m", 2000),),
        resources=tuple(Resource(f"r{i}", rate) for i, rate in enumerate(rates)),
        streams=tuple(FlatStream(f"s{f}", f"out{f}", (f"in{f}",)) for f in range(len(flows))),
    )
    results = simulate(program)
    for f, end in enumerate(fair_ends(flows, rates)):
        assert results.engine(f"out{f}").finished == end
