"""Drawn programs, pipelines, tiles and grids, with numpy as the judge and IREE as numpy's."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from profiles import drawn

import npuflow
from npuflow.bindings import ir
from npuflow.execute.compare import compare
from npuflow.execute.references import Judge, make_references
from npuflow.execute.verification import Status, check
from npuflow.target import load_device
from npuflow.testing.numpy_reference import numpy_reference
from npuflow.testing.programs import TYPES, MatmulProgram, Tail, Transposed

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
DEVICES = ("npu1", "npu2")

# The only refusal that a consistent choice of tiles may meet: `needs 73728 bytes, has 65536`.
CAPACITY = re.compile(r"needs (\d+) bytes, has (\d+)")


@dataclass(frozen=True)
class Case:
    """A program, and the options of the pipeline to run on it."""

    program: MatmulProgram
    options: str


@st.composite
def programs(draw: st.DrawFn) -> MatmulProgram:
    size = st.one_of(st.integers(1, 8), st.integers(1, 80))
    tails = draw(st.lists(st.sampled_from([Tail.BIAS, Tail.RELU, Tail.SCALE]), unique=True, max_size=3))
    if draw(st.booleans()):
        tails.append(Tail.TRUNCATE)
    return MatmulProgram(
        draw(size),
        draw(size),
        draw(size),
        draw(st.sampled_from(TYPES)),
        batch=draw(st.sampled_from([0, 0, 1, 2])),
        transposed=draw(st.sampled_from(Transposed)),
        tails=tuple(tails),
        accumulate=draw(st.booleans()),
        one_op_per_tail=draw(st.booleans()),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Tiles as documented: L1 in packed shapes, L2's m and n the grid's share of L1's, k a multiple. All optional."""
    program = draw(programs())
    device = load_device(draw(st.sampled_from(DEVICES)))
    operand, accumulator = program.types.operand, program.types.accumulator
    if device.accepts_any_shape(operand, operand, accumulator):
        pack = draw(st.tuples(*[st.integers(1, 9)] * 3))
    else:
        shape = draw(st.sampled_from(device.matmul_shapes(operand, operand, accumulator)))
        pack = (shape.m, shape.n, shape.k)
    grid = (draw(st.integers(1, device.rows)), draw(st.integers(1, device.columns)))
    l1 = tuple(p * draw(st.sampled_from([1, 2, 3, 40])) for p in pack)
    l2 = (grid[0] * l1[0], grid[1] * l1[1], l1[2] * draw(st.integers(1, 3)))
    options = {"grid": grid, "tile-l2": l2, "tile-l1": l1, "pack": pack}
    said = draw(st.sampled_from([tuple(options), ("grid", "pack"), ("tile-l1", "pack"), ("grid",), ()]))
    text = " ".join(f"{key}={','.join(map(str, options[key]))}" for key in said)
    return Case(program, f"device={device.name} {text}")


def refusal_by(pipeline: str, module: ir.Module) -> str | None:
    """Runs the pipeline; returns its refusal, if it refuses."""
    try:
        npuflow.run_pipeline(module, pipeline)
    except npuflow.InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("pipeline", PIPELINES)
@drawn(few=12, many=5000)
@given(case=cases())
def test_drawn_pipelines_compute_what_numpy_computes(pipeline: str, case: Case) -> None:
    module = npuflow.parse(case.program.text(), npuflow.new_context())
    refusal = refusal_by(f"{pipeline}{{{case.options}}}", module)
    if refusal is None:
        outcome = check(module.operation, numpy_reference(case.program))
        assert outcome.status is Status.OK, str(outcome)
        return
    event("refused")
    numbers = CAPACITY.search(refusal)
    assert numbers is not None, refusal
    assert int(numbers[1]) > int(numbers[2]), refusal


@drawn(few=4, many=500)
@given(programs())
def test_numpy_and_the_jit_agree_with_iree_about_drawn_programs(program: MatmulProgram) -> None:
    module = npuflow.parse(program.text(), npuflow.new_context())
    (judged,) = make_references(module.operation, "", 0, Judge.IREE)
    by_numpy = numpy_reference(program)
    assert judged.signature == by_numpy.signature
    for mine, theirs, bound in zip(by_numpy.expected, judged.expected, judged.bounds, strict=True):
        comparison = compare(mine, theirs, bound)
        assert comparison.ok, str(comparison)
    assert check(module.operation, judged).status is Status.OK
