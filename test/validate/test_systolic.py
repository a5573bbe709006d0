"""The schedules behind a systolic array's measured cycles: what they compute, wait for, and how long they take."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuflow.errors import InputError
from npuflow.simulate.kernels import KernelFunction, PythonKernels
from npuflow.simulate.program import FlatAcquire, FlatCompute, FlatEngine, Program
from npuflow.simulate.run import Executed, execute, simulate
from npuflow.target import load_device
from npuflow.validate.read import read_systolic_rows
from npuflow.validate.systolic_program import program_of
from npuflow.validate.systolic_rows import SystolicPrediction, SystolicSkipped, parse_systolic_rows, predict_systolic
from npuflow.validate.systolic_steps import FusedPair, SingleMatmul, TiledWork

DEVICE = load_device("systolic16")
FILES = Path(__file__).resolve().parents[2] / "benchmarks" / "measurements"
WORD = np.dtype(np.int16)


def multiply(lhs: np.ndarray, rhs: np.ndarray, sums: np.ndarray) -> None:
    sums += lhs @ rhs


def multiply_from_zero(lhs: np.ndarray, rhs: np.ndarray, sums: np.ndarray) -> None:
    sums[:] = lhs @ rhs


def keep(sums: np.ndarray, kept: np.ndarray) -> None:
    kept[:] = sums


def function_of(name: str) -> Callable[..., None]:
    if name.startswith("keep"):
        return keep
    return multiply_from_zero if name.endswith("from zero") else multiply


def executed(program: Program, inputs: dict[str, np.ndarray]) -> Executed:
    kernels = PythonKernels()
    calls = {step.kernel: step for e in program.engines for step in e.body if isinstance(step, FlatCompute)}
    functions: dict[str, KernelFunction] = {
        name: kernels.wrap(function_of(name), call, [WORD] * len(call.operands)) for name, call in calls.items()
    }
    found = execute(program, inputs, functions)
    kernels.raise_first()
    return found


def drawn_inputs(work: TiledWork) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    return {name: draw.integers(-99, 99, shape).astype(WORD) for name, shape in work.inputs.items()}


def expected(inputs: dict[str, np.ndarray]) -> np.ndarray:
    product = inputs["A"] @ inputs["B"]
    return product @ inputs["D"] if "D" in inputs else product


WORKS = [
    SingleMatmul(64, 64, 64, 16, 32, 32),
    SingleMatmul(32, 48, 16, 16, 16, 16),  # fewer results than are worked on side by side
    SingleMatmul(40, 50, 70, 16, 32, 32),  # sizes that don't divide
    FusedPair(128, 32, 64, 32, 16, 16, 32),
    FusedPair(70, 40, 50, 30, 16, 16, 32),
]


@pytest.mark.parametrize("work", WORKS, ids=str)
def test_they_compute_in_turn_and_nothing_races(work: TiledWork) -> None:
    program, inputs = program_of(work, DEVICE), drawn_inputs(work)
    run = executed(program, inputs)
    name, shape = work.result
    np.testing.assert_array_equal(run.memories[name].view(WORD).reshape(shape), expected(inputs))
    assert run.results.hazards == ()
    assert run.results.cycles == simulate(program).cycles


@pytest.mark.parametrize("waits", [("free B",), ("free D",), ("place", "leaving")], ids=" and ".join)
def test_without_a_wait_it_races(waits: tuple[str, ...]) -> None:
    work = FusedPair(256, 64, 128, 32, 16, 16, 16)
    program = program_of(work, DEVICE)

    def without(engine: FlatEngine) -> FlatEngine:
        left = (s for s in engine.body if not (isinstance(s, FlatAcquire) and s.semaphore.startswith(waits)))
        return replace(engine, body=tuple(left))

    hasty = replace(
        program,
        engines=tuple(map(without, program.engines)),
        semaphores=tuple(replace(s, maximum=1000) for s in program.semaphores),
    )
    assert "race" in {hazard.kind.value for hazard in executed(hasty, drawn_inputs(work)).results.hazards}


def test_a_matmuls_time_is_what_paper_says() -> None:
    # one-64-32-16-m16-k32-n16: the 4 tiles of A and of B, 512 words each, at 4 words a cycle and 6 to begin with, are
    # what it takes longest for; then the last is multiplied, its 256 words are written, and it took a cycle to launch.
    cycles = simulate(program_of(SingleMatmul(64, 32, 16, 16, 32, 16), DEVICE)).cycles
    assert cycles == 1 + 4 * 2 * (6 + 512 // 4) + (16 * 32 * 16 // 256 + 55) + (6 + 256 // 4)
    assert cycles == 1230


def test_a_pairs_time_is_what_paper_says() -> None:
    # Every step waits for what it loads: 4 times A (256 words) and B (1024), then 4 times D (1024). The last product
    # follows, and the intermediate result is out of the way long before.
    cycles = simulate(program_of(FusedPair(64, 16, 64, 16, 16, 16, 64), DEVICE)).cycles
    loads = 4 * (6 + 256 // 4 + 6 + 1024 // 4) + 4 * (6 + 1024 // 4)
    assert cycles == 1 + loads + (16 * 64 * 16 // 256 + 55) + (6 + 256 // 4)


@st.composite
def pairs(draw: st.DrawFn) -> FusedPair:
    m, k, l, n = (draw(st.integers(1, 96)) for _ in range(4))  # noqa: E741
    return FusedPair(m, k, l, n, *(draw(st.integers(8, 64)) for _ in range(3)))


@settings(max_examples=25, deadline=None)
@given(pairs())
def test_words_moved(work: FusedPair) -> None:
    moved = simulate(program_of(work, DEVICE)).level_traffic(3)
    blocks = -(-work.m // work.tile_m)
    assert moved.read_bytes == 2 * (work.m * work.k + (work.k * work.l + work.l * work.n) * blocks)
    assert moved.written_bytes == 2 * work.m * work.n
    steps = list(work.steps())
    assert sum(step.result.elements * step.lhs.columns for step in steps) == work.macs
    assert len(steps) == work.count


@pytest.mark.parametrize("name", ["systolic_pairs.csv", "systolic_matmuls.csv"])
def test_every_row_to_the_cycle(name: str) -> None:
    rows = read_systolic_rows(str(FILES / name))
    assert rows is not None
    answers = [predict_systolic(row, DEVICE) for row in rows]
    assert all(isinstance(answer, SystolicPrediction) for answer in answers)
    wrong = {answer.row.id: answer.cycles for answer in answers if answer.cycles != answer.row.cycles}
    assert wrong == {}
    assert all(answer.words == answer.row.words for answer in answers if answer.row.words is not None)
    with (FILES / name).open() as file:
        assert [row.id for row in rows] == [row["id"] for row in csv.DictReader(file)]


HEAD = "id,op,M,K,N,tile_m,tile_k,tile_n,cycles\n"


def test_what_is_wrong_with_rows() -> None:
    text = HEAD + "a,matmul,64,64,0,16,16,16,1000\nb,matmul_pear,1,1,1,1,1,1,1\n,matmul,1,1,1,1,1,1,-1\n"
    with pytest.raises(InputError) as caught:
        parse_systolic_rows(text, "x.csv")
    said = [(wrong.location.line, wrong.message) for wrong in caught.value.diagnostics if wrong.location]
    assert [line for line, _ in said] == [2, 3, 4]
    zero, pear, negative = (message for _, message in said)
    assert zero == "N is '0'; hint: give a whole number from 1 to 1000000"
    assert "matmul_pear" in pear
    assert "did you mean" in pear
    assert negative == "cycles is '-1'; hint: give a positive number"


def test_what_cannot_be_predicted_says_why() -> None:
    text = HEAD + "big,matmul,4096,4096,4096,1024,1024,1024,1\nmany,matmul,4096,4096,4096,1,1,1,1\n"
    big, many = (predict_systolic(row, DEVICE) for row in parse_systolic_rows(text, "x.csv"))
    assert isinstance(big, SystolicSkipped)
    assert isinstance(many, SystolicSkipped)
    assert big.reason == "error: buffer needs 25165824 bytes, has 1048576; hint: use smaller tiles"
    assert many.reason == "more than 50000 steps"


def test_rows_neednt_be_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("M,K,L,N,tile_m,tile_k,tile_l,cycles\n64,16,32,,16,16,16,1\n64,16,32,48,16,16,16,1\n")
    with pytest.raises(InputError, match="N is ''"):
        read_systolic_rows(str(file))
    file.write_text("M,K,L,N,tile_m,tile_k,tile_l,cycles\n64,16,32,48,16,16,16,1\n")
    rows = read_systolic_rows(str(file))
    assert rows is not None
    assert [(row.id, row.op, row.work) for row in rows] == [
        ("line 2", "matmul_pair", FusedPair(64, 16, 32, 48, 16, 16, 16))
    ]
