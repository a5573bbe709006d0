"""Every pipeline on every supported type, awkward shape, layout and tail.

Each program by one pipeline and numpy's result; at night all of them by all pipelines, and IREE's.
"""

from __future__ import annotations

from functools import cache

import pytest
from profiles import NIGHTLY, spread

import npuflow
from npuflow.execute.references import Judge, Reference, make_references
from npuflow.execute.verification import Status, check
from npuflow.testing.numpy_reference import numpy_reference
from npuflow.testing.programs import TYPES, MatmulProgram, Tail, Transposed, Types

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
# What the device suggests (one block for shapes as small as these), and many blocks, cores and steps along K.
OPTIONS = ("", "{grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16}")
RUNS = [pipeline + options for options in OPTIONS for pipeline in PIPELINES]

SHAPES = {
    "square": (64, 64, 64),
    "one-row": (1, 40, 56),
    "one-column": (40, 1, 56),
    "one-step": (24, 40, 1),
    "one-element": (1, 1, 1),
    "prime": (37, 41, 43),
    "one-more": (33, 65, 65),
    "one-less": (31, 63, 63),
}
EVERYTHING = (Tail.BIAS, Tail.SCALE, Tail.RELU, Tail.TRUNCATE)


def programs_of(types: Types) -> list[MatmulProgram]:
    """The rows of the matrix for one pair of types."""
    turned = [turn for turn in Transposed if turn is not Transposed.NONE]
    return [
        *(MatmulProgram(*shape, types) for shape in SHAPES.values()),
        MatmulProgram(24, 40, 56, types, batch=3),
        *(MatmulProgram(23, 39, 51, types, transposed=turn) for turn in turned),
        *(MatmulProgram(24, 40, 56, types, batch=2, transposed=turn) for turn in turned),
        *(MatmulProgram(24, 40, 56, types, tails=(tail,)) for tail in Tail),
        MatmulProgram(23, 39, 51, types, tails=EVERYTHING),
        MatmulProgram(23, 39, 51, types, tails=EVERYTHING, one_op_per_tail=True),
        MatmulProgram(23, 39, 51, types, tails=EVERYTHING, batch=2, transposed=Transposed.RHS_BY_MAP),
        MatmulProgram(24, 40, 56, types, accumulate=True),
        MatmulProgram(23, 39, 51, types, accumulate=True, tails=EVERYTHING),
    ]


# Types and rows are numbered so that a row meets another run with each type.
PROGRAMS = [(program, t + row) for t, types in enumerate(TYPES) for row, program in enumerate(programs_of(types))]


@cache
def by_iree(program: MatmulProgram) -> Reference:
    module = npuflow.parse(program.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, Judge.IREE)
    return reference


@pytest.mark.parametrize(("program", "number"), PROGRAMS, ids=str)
def test_every_pipeline_computes_the_same(program: MatmulProgram, number: int) -> None:
    reference = by_iree(program) if NIGHTLY else numpy_reference(program)
    failures = []
    for run in spread(number, RUNS):
        module = npuflow.parse(program.text(), npuflow.new_context())
        npuflow.run_pipeline(module, run)
        outcome = check(module.operation, reference)
        if outcome.status is not Status.OK:
            failures.append(f"{run}: {outcome.status.value}: {outcome}")
    assert failures == []


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_large_matmul_is_bit_exact(pipeline: str) -> None:
    program = MatmulProgram(1024, 512, 2048, Types("i32", "i32"))
    module = npuflow.parse(program.text(), npuflow.new_context())
    tiles = "tile-l2=64,64,256 tile-l1=32,32,32"
    if pipeline == "npuflow-pad-pack":  # which keeps all of K in L2
        tiles = "tile-l2=32,32,256 tile-l1=16,16,32"
    npuflow.run_pipeline(module, f"{pipeline}{{grid=2,2 {tiles} pack=4,8,8}}")
    outcome = check(module.operation, by_iree(program))
    assert outcome.status is Status.OK, str(outcome)
    assert [comparison.max_error for comparison in outcome.comparisons] == [0.0]
