"""Transfers in turns: nothing but the number of descriptors changes."""

from __future__ import annotations

from importlib import resources
from itertools import product
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges import JUDGE

import npuflow
from npuflow.compiler.verify_function import verify_function
from npuflow.execute.references import make_references
from npuflow.execute.verification import Status
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Configure, Schedule
from npuflow.schedule.data.placed import placed_steps
from npuflow.schedule.nest.nest import BufferInfo, Dimension, End, Factor, Transfer
from npuflow.schedule.project.turns import Turns, in_turns
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_rows import Elementwise, Pairwise
from npuflow.testing.operator_samples import sized
from npuflow.testing.operator_windows import Convolution, Windows, layout_named
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types

L3, L2 = 0, 1

factors = st.builds(Factor, st.integers(1, 3), st.integers(1, 5), st.integers(1, 50), st.integers(1, 50))
dimensions = st.builds(
    lambda some, limit, lower: Dimension(tuple(some), limit, lower),
    st.lists(factors, min_size=1, max_size=2),
    st.none() | st.integers(-2, 12).map(Affine),
    st.none() | st.integers(-2, 12).map(Affine),
)


def buffer(space: int) -> BufferInfo:
    return BufferInfo(f"level{space}", space, (1,), "i32", 4, None)


def transfers(shape: list[Dimension], is_read: bool) -> Transfer:
    ends = End(buffer(L3), Affine(3)), End(buffer(L2), Affine(5))
    source, target = ends if is_read else ends[::-1]
    return Transfer(source, target, tuple(shape), False, None)


def moves(turns: Turns) -> set[tuple[int, int]]:
    """The pairs of addresses between which something moves."""
    found = set()
    for turn in product(*(range(trips) for _, trips in turns.loops)):
        values = {name: Affine(value) for (name, _), value in zip(turns.loops, turn)}
        transfer = turns.transfer
        steps = [(d, f) for d, dimension in enumerate(transfer.dimensions) for f in dimension.factors]
        bounds = [dimension.substitute(values) for dimension in transfer.dimensions]
        for point in product(*(range(f.size) for _, f in steps)):
            index = [0] * len(bounds)
            for (d, f), i in zip(steps, point):
                index[d] += f.weight * i
            exists = all(
                (b.limit is None or n < b.limit.constant) and (b.lower is None or n >= b.lower.constant)
                for b, n in zip(bounds, index)
            )
            source, target = (end.offset.substitute(values).constant for end in (transfer.source, transfer.target))
            source += sum(f.source_stride * i for (_, f), i in zip(steps, point))
            target += sum(f.target_stride * i for (_, f), i in zip(steps, point))
            if exists:
                found.add((source, target))
    return found


def rank(transfer: Transfer) -> int:
    return sum(factor.size > 1 for dimension in transfer.dimensions for factor in dimension.factors)


@given(st.lists(dimensions, min_size=1, max_size=3), st.booleans(), st.integers(1, 4))
def test_turns_move_what_the_transfer_moves(shape: list[Dimension], is_read: bool, most: int) -> None:
    transfer = transfers(shape, is_read)
    turns = in_turns(transfer, lambda t: rank(t) <= most)
    assert moves(turns) == moves(Turns((), transfer))
    assert len(turns.loops) == max(0, rank(transfer) - most)


def test_what_is_furthest_apart_in_l3_goes_in_turns_first() -> None:
    shape = [Dimension((Factor(4, 1, 1, 100),)), Dimension((Factor(3, 1, 50, 1),))]
    for is_read, trips in ((True, 3), (False, 4)):
        (loop,) = in_turns(transfers(shape, is_read), lambda t: rank(t) <= 1).loops
        assert loop[1] == trips


@pytest.fixture
def near_sighted(tmp_path: Path) -> str:
    """The toy device, whose shims step no further than 16 words: what lies apart takes a descriptor each."""
    text = (resources.files("npuflow.target") / "devices" / "toy.toml").read_text()
    before, shim, after = text.partition('name = "shim dma"')
    assert "stride_max = 1048576" in after
    path = tmp_path / "near.toml"
    path.write_text(before + shim + after.replace("stride_max = 1048576", "stride_max = 16", 1))
    return str(path)


CONVOLUTION = layout_named("conv_2d_nhwc_hwcf")
I32 = Types("i32", "i32")
PROGRAMS: list[OperatorProgram] = [
    Elementwise((33, 65), ((0, 1), (1, 0)), Pairwise.ADD, I32),
    Elementwise((3, 7, 5, 9), ((0, 1, 2, 3), (2, 1)), Pairwise.MUL, Types("i8", "i32")),
    Product(Kind.MATMUL, Kind.MATMUL.sizes_of(45, 37, 51), I32),
    Convolution(
        CONVOLUTION, sized(CONVOLUTION, {"n": 2, "h": 9, "w": 7, "f": 33, "c": 5}), Windows.plain((3, 3), pad=1), I32
    ),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
@pytest.mark.parametrize("pipeline", ["npuflow-stream-k", "npuflow-pack-peel"])
def test_transfers_in_turns_compute_the_same(program: OperatorProgram, pipeline: str, near_sighted: str) -> None:
    module = npuflow.parse(program.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, JUDGE)
    compiled = npuflow.compile(program.text(), pipeline, device=near_sighted, split=False).functions[0].compiled
    whole = npuflow.compile(program.text(), pipeline, device="toy", split=False).functions[0].compiled
    assert sum(configured(compiled.schedule)) > sum(configured(whole.schedule)), "nothing goes in turns"
    assert max(configured(compiled.schedule)) <= 4  # 16 descriptors for 2 + 2 channels
    verified = verify_function(compiled, reference)
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"


def configured(schedule: Schedule) -> list[int]:
    """The descriptors of every task that is set up."""
    steps = [s for s in placed_steps(schedule.engines["control"], schedule.extents) if isinstance(s.step, Configure)]
    return [s.step.descriptors for s in steps for _ in range(prod({**s.counters, **s.coordinates}.values()))]
