"""What the tests of the strategy draw: devices, problems and what a user may say of a strategy."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from npuflow.strategy.choose import Given
from npuflow.strategy.footprint import Problem, TailOperand
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, load_device

DEVICES = {name: load_device(name) for name in ("toy", "npu1", "npu2")}
ELEMENT_BYTES = {"i8": 1, "i16": 2, "i32": 4, "bf16": 2, "f32": 4}
SIZES = st.one_of(st.integers(1, 40), st.integers(1, 5000), st.sampled_from([1, 64, 1024, 4096]))
TILE_SIZES = st.one_of(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128]), st.integers(1, 200), st.just(2**62))


def devices() -> st.SearchStrategy[Device]:
    return st.sampled_from(list(DEVICES.values()))


@st.composite
def problems(draw: st.DrawFn, device: Device) -> Problem:
    """A matmul of types that the device multiplies, with or without a tail."""
    types = draw(st.sampled_from(device.supported_types()))
    lhs, rhs, acc = (ELEMENT_BYTES[t] for t in types)
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    tail = draw(st.lists(st.builds(TailOperand, st.booleans(), st.booleans(), st.sampled_from([1, 4])), max_size=2))
    has_tail = bool(tail) or draw(st.booleans())
    result = draw(st.sampled_from([1, acc])) if has_tail else acc
    batch, is_filled = draw(st.integers(1, 3)), draw(st.booleans())
    sizes = Problem(m, n, k, batch, types, lhs, rhs, acc, result)
    return replace(sizes, has_tail=has_tail, is_filled=is_filled, tail_operands=tuple(tail))


def tiles() -> st.SearchStrategy[tuple[int, int, int]]:
    return st.tuples(TILE_SIZES, TILE_SIZES, TILE_SIZES)


def givens() -> st.SearchStrategy[Given]:
    """Anything positive, sensible or not."""
    return st.builds(
        Given,
        grid=st.none() | st.tuples(st.integers(1, 9), st.integers(1, 9)),
        tile_l2=st.none() | tiles(),
        tile_l1=st.none() | tiles(),
        pack=st.none() | tiles(),
        depth_l2=st.none() | st.integers(1, 5),
        depth_l1=st.none() | st.integers(1, 5),
    )


@st.composite
def nested(draw: st.DrawFn, problem: Problem, device: Device) -> Strategy:
    """A strategy whose sizes nest as they must, of any size."""
    shape = device.matmul_shapes(*problem.types)[0]
    pack = (shape.m, shape.n, shape.k)
    grid = draw(st.integers(1, device.rows)), draw(st.integers(1, device.columns))
    times = st.sampled_from([1, 2, 3, 8, 16, 100, 10**6])
    m, n, k = (p * draw(times) for p in pack)
    depths = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    return Strategy(grid, (m * grid[0], n * grid[1], k * draw(times)), (m, n, k), pack, *depths)
