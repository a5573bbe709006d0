"""`npuflow.tune`: what it finds is what its program takes, the same every time, and never worse than the default."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import tuned_programs as programs

import npuflow
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.strategy.work import work_of
from npuflow.tuning.runners import run_in_order
from npuflow.tuning.subjects import subjects_of
from npuflow.tuning.trial import StrategyTrial, TrialOutcome


def tuned(text: str, candidates: int = 6, **settings: object) -> npuflow.Tuned:
    return npuflow.tune(text, candidates=candidates, **{"device": "toy", "cache": "none", "jobs": 1, **settings})


@cache
def tuned_matmul() -> npuflow.Tuned:
    return tuned(programs.MATMUL)


@pytest.mark.parametrize(
    ("text", "device", "runs"),
    [
        (programs.MATMUL, "toy", 1),
        (programs.POINTWISE, "npu2", 1),
        (programs.SOFTMAX, "toy", 1),
        (programs.CHAIN, "toy", 1),
        (programs.CHAIN, "npu1", 3),
    ],
)
def test_the_tuned_program_takes_what_was_timed(text: str, device: str, runs: int) -> None:
    result = tuned(text, device=device, pipeline="npuflow-stream-k{fuse=false}").result
    assert len(result.functions[0].runs) == runs
    (function,) = result.functions
    assert function.replayed_cycles == result.best_cycles(function) <= result.default_cycles(function)


def test_the_tuned_program_computes_the_same() -> None:
    report = npuflow.compile(tuned(programs.POINTWISE).program).run()
    assert report.functions[0].verified.status.value == "ok"


def test_what_is_found_depends_on_nothing_but_the_number_of_candidates() -> None:
    alone, together = tuned_matmul(), tuned(programs.MATMUL, jobs=2)
    assert alone.json() == together.json()
    assert alone.program == together.program


def test_a_bad_strategy_that_somebody_said_stays() -> None:
    said = programs.MATMUL.replace(
        "linalg.matmul ins", "linalg.matmul {npu.strategy = #npu.strategy<{tile_l1 = [4, 8, 8]}>} ins"
    )
    (unit,) = tuned(said).result.units.values()
    assert all("tile_l1 = [4, 8, 8]" in one.strategy for one in unit.groups[0].tried)
    free = tuned_matmul().result
    assert free.best_cycles(free.functions[0]) < unit.best.cycles


def test_the_default_is_tried_first_and_takes_what_it_takes_when_nobody_says_anything() -> None:
    (unit,) = tuned(programs.SOFTMAX).result.units.values()
    assert unit.groups[0].tried[0].outcome.cycles == unit.default.cycles


@pytest.mark.parametrize(("options", "count"), [("", 1), ("fuse=false", 3), ("depth-between=1", 1)])
def test_what_is_tuned_is_what_is_compiled(options: str, count: int) -> None:
    text = f"npuflow-stream-k{{{options}}},npuflow-schedule"
    module = npuflow.parse(programs.JOINED, npuflow.new_context())
    pipeline = expand(parse_pipeline(text), Expansion(device="toy"))
    (unit,) = subjects_of(module, pipeline, "toy", DiagnosticSink(), jobs=1).units
    (function,) = npuflow.compile(programs.JOINED, text, device="toy").functions
    assert len(unit.groups) == len(work_of(function.compiled.op)) == count
    between = {group.given.depth_between for group in unit.groups}
    assert between == {1 if "depth-between" in options else None}


def test_time_that_runs_out_is_said(tmp_path: Path) -> None:
    short = tuned(programs.MATMUL, budget_seconds=1e-6, cache=tmp_path)
    assert short.result.is_cut
    assert "time ran out" in short.text()
    assert not tuned(programs.MATMUL, cache=tmp_path).result.is_cut


def test_functions_that_are_alike_are_one_unit() -> None:
    two = programs.MATMUL + programs.MATMUL.replace("@product", "@again")
    result = tuned(two).result
    assert [function.runs for function in result.functions] == [("product",), ("product",)]
    assert result.program.count("#npu.strategy<{") == 2


def test_schedules_are_refused() -> None:
    example = Path(__file__).parents[2] / "examples" / "two_cores.mlir"
    with pytest.raises(npuflow.InputError, match="no public function"):
        npuflow.tune(example)


class Vanished:
    """A runner whose workers die: every other future fails."""

    def __init__(self) -> None:
        self.submitted = 0

    def __call__(self, trial: StrategyTrial) -> object:
        from concurrent.futures import Future

        self.submitted += 1
        future: Future[TrialOutcome] = Future()
        if self.submitted % 2:
            future.set_exception(RuntimeError("the worker is gone"))
        else:
            future.set_result(TrialOutcome(cycles=7))
        return future


def test_what_a_worker_loses_is_timed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuflow.tuning.runners.run_trial", lambda _: TrialOutcome(cycles=5))
    trials = [StrategyTrial(b"", "", "toy")] * 4
    found = dict(run_in_order(Vanished(), trials, 2, lambda: True))  # type: ignore[arg-type]
    assert [found[number].cycles for number in range(4)] == [5, 7, 5, 7]
