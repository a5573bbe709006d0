"""Every pipeline on every supported type, awkward shape, layout and tail, with IREE as the judge."""

from __future__ import annotations

from functools import cache

import pytest

import npuflow
from npuflow.execute.programs import TYPES, MatmulProgram, Tail, Transposed, Types
from npuflow.execute.verification import Judge, Reference, Status, check, make_references

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
# What the device suggests (one block for shapes as small as these), and many blocks, cores and steps along K.
OPTIONS = {"defaults": "", "small-tiles": "{grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16}"}

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


PROGRAMS = [program for types in TYPES for program in programs_of(types)]


@cache
def reference_of(program: MatmulProgram) -> Reference:
    module = npuflow.parse(program.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, Judge.IREE)
    return reference


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_pipeline_computes_what_iree_computes(program: MatmulProgram) -> None:
    reference = reference_of(program)
    failures = []
    for pipeline in PIPELINES:
        for name, options in OPTIONS.items():
            module = npuflow.parse(program.text(), npuflow.new_context())
            npuflow.run_pipeline(module, pipeline + options)
            outcome = check(module.operation, reference)
            if outcome.status is not Status.OK:
                failures.append(f"{pipeline} with {name}: {outcome.status.value}: {outcome}")
    assert failures == []


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_large_matmul_is_bit_exact(pipeline: str) -> None:
    program = MatmulProgram(1024, 512, 2048, Types("i32", "i32"))
    module = npuflow.parse(program.text(), npuflow.new_context())
    tiles = "tile-l2=64,64,256 tile-l1=32,32,32"
    if pipeline == "npuflow-pad-pack":  # which keeps all of K in L2
        tiles = "tile-l2=32,32,256 tile-l1=16,16,32"
    npuflow.run_pipeline(module, f"{pipeline}{{grid=2,2 {tiles} pack=4,8,8}}")
    outcome = check(module.operation, reference_of(program))
    assert outcome.status is Status.OK, str(outcome)
    assert [comparison.max_error for comparison in outcome.comparisons] == [0.0]
