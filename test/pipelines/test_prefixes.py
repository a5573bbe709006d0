"""After every pass of every pipeline the program still computes what it computed before."""

from __future__ import annotations

import pytest
from judges import JUDGE
from profiles import spread

import npuflow
from npuflow.core.expansion import expand
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.execute.verify_pipeline import PassCheck, Request, verify_pipeline
from npuflow.testing.programs import MatmulProgram, Tail, Transposed, Types

PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
TILES = "{grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16}"
EVERYTHING = (Tail.BIAS, Tail.RELU, Tail.TRUNCATE)

PROGRAMS = (
    MatmulProgram(37, 41, 70, Types("i8", "i32")),
    MatmulProgram(17, 33, 65, Types("bf16", "f32"), tails=EVERYTHING, transposed=Transposed.RHS_BY_MAP),
    MatmulProgram(20, 24, 40, Types("i16", "i32"), batch=2, accumulate=True),
)


CASES = [(pipeline, program) for number, pipeline in enumerate(PIPELINES) for program in spread(number, PROGRAMS)]


@pytest.mark.parametrize(("pipeline", "program"), CASES, ids=str)
def test_no_pass_changes_the_results(pipeline: str, program: MatmulProgram) -> None:
    module = npuflow.parse(program.text(), npuflow.new_context())
    seen: list[PassCheck] = []
    request = Request(expand(parse_pipeline(pipeline + TILES)), each=True, judge=JUDGE)
    verdict = verify_pipeline(module, request, seen.append)
    assert [f"{made.text}: {made.checks[0]}" for made in seen if made.wrong or made.skipped] == []
    assert verdict.ok
    # The passes that do something are those the pipelines are named for; no stage of theirs may go unchecked.
    checked = {made.name for made in seen}
    assert {"npuflow-tile-blocks", "npuflow-tile-k", "npuflow-pack-operands", "one-shot-bufferize"} <= checked
