"""A pass with a bug is found by its name, whatever the bug does to the program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judges import JUDGE
from profiles import spread

import npuflow
from npuflow.core.expansion import expand
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.execute.limits import DEFAULT_LIMITS, Limits
from npuflow.execute.references import Judge
from npuflow.execute.verify_pipeline import PassCheck, Request, Verdict, verify_pipeline
from npuflow.testing.programs import MatmulProgram, Types

INPUTS = Path(__file__).parent / "Inputs"
STREAM_K = "npuflow-stream-k{grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16}"
PROGRAM = MatmulProgram(33, 34, 70, Types("i8", "i32"))
REAL_PROGRAM = MatmulProgram(33, 34, 70, Types("f32", "f32"))
PROGRAMS = (PROGRAM, REAL_PROGRAM)


@pytest.fixture(autouse=True, scope="module")
def _wrong_passes() -> Iterator[None]:
    """There are more stages in front of a wrong pass than engines are kept of otherwise; here all tests have them."""
    npuflow.load_plugin(str(INPUTS / "wrong_passes.py"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("npuflow.execute.jit._ENGINES_KEPT", 200)
        yield


def verdict_on(
    pipeline: str,
    program: MatmulProgram = PROGRAM,
    *,
    each: bool = True,
    judge: Judge = JUDGE,
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    module = npuflow.parse(program.text(), npuflow.new_context())
    made: list[PassCheck] = []
    request = Request(expand(parse_pipeline(pipeline)), each=each, judge=judge, limits=limits)
    verdict = verify_pipeline(module, request, made.append)
    assert tuple(made) == verdict.pass_checks
    return verdict


WRONG = [
    (f"{STREAM_K},wrong-drop-copy,canonicalize", "elements are wrong"),
    (f"{STREAM_K},wrong-drop-fill,canonicalize", "elements are wrong"),
    (f"wrong-drop-fill,{STREAM_K}", "elements are wrong"),
    (f"{STREAM_K},wrong-write-outside,canonicalize", "behind array 0"),
    (f"{STREAM_K},wrong-read-nowhere,canonicalize", "crashed with SIGSEGV"),
    (f"{STREAM_K},wrong-shift-slice,canonicalize", "elements are wrong"),
]


@pytest.mark.parametrize(
    ("pipeline", "message", "program"),
    # All but the last of one program: what is in front of the wrong pass is compiled for the first of them.
    [(*wrong, program) for number, wrong in enumerate(WRONG) for program in spread(number // 5, PROGRAMS)],
    ids=str,
)
def test_a_wrong_pass_is_named(pipeline: str, message: str, program: MatmulProgram) -> None:
    verdict = verdict_on(pipeline, program)
    assert not verdict.ok
    assert verdict.last.name.startswith("wrong-")
    assert verdict.last.name in pipeline
    assert verdict.last.wrong is not None
    assert message in str(verdict.last.wrong)
    assert [made for made in verdict.pass_checks[:-1] if made.wrong] == []


def test_a_pass_that_makes_a_loop_without_end_is_named() -> None:
    pipeline = f"{STREAM_K},wrong-loop-forever,canonicalize"
    verdict = verdict_on(pipeline, judge=Judge.JIT, limits=Limits(time_seconds=1))
    assert verdict.last.name == "wrong-loop-forever"
    assert "the execution of @matmul did not end within 1 s; hint: allow more time (--t" in str(verdict.last.wrong)


def test_positions_are_those_of_the_expanded_pipeline() -> None:
    verdict = verdict_on("canonicalize,func.func(cse,canonicalize),wrong-drop-fill,cse")
    assert (verdict.last.name, verdict.last.position, verdict.pass_count) == ("wrong-drop-fill", 4, 5)


def test_without_each_only_the_end_is_checked() -> None:
    verdict = verdict_on(f"{STREAM_K},wrong-drop-copy,cse", each=False)
    assert [made.name for made in verdict.pass_checks] == ["cse"]
    assert verdict.last.wrong is not None


def test_a_changed_type_is_no_silent_success() -> None:
    verdict = verdict_on(f"{STREAM_K},wrong-change-type")
    assert not verdict.ok
    assert verdict.last.skipped is not None
    assert "the function's type has changed" in str(verdict.last.skipped)


def test_a_stage_that_cannot_be_executed_is_passed_over_but_not_at_the_end() -> None:
    verdict = verdict_on(f"{STREAM_K},gpu-add-barrier,gpu-drop-barrier")
    assert verdict.ok
    passed_over = [made.name for made in verdict.pass_checks if made.skipped]
    assert passed_over == ["gpu-add-barrier"]
    assert verdict.last.name == "gpu-drop-barrier"
    at_the_end = verdict_on(f"{STREAM_K},gpu-add-barrier")
    assert not at_the_end.ok
    assert "gpu.barrier is not allowed in a program" in str(at_the_end.last.skipped)


def test_results_that_became_arguments_are_still_compared() -> None:
    pipeline = f"{STREAM_K},buffer-results-to-out-params{{modify-public-functions=true}}"
    assert verdict_on(pipeline).ok
    wrong = verdict_on(f"{pipeline},wrong-drop-copy")
    assert wrong.last.wrong is not None
