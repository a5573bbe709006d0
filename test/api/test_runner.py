"""Running a pipeline step by step from Python: stages, what is called around passes, statistics, failures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.core.pipeline_text import PassNest, PassNode
from npuflow.core.runner import PassRun

MATMUL = (Path(__file__).resolve().parents[2] / "examples" / "matmul.mlir").read_text()
STREAM_K = "npuflow-stream-k{grid=2,2 pack=4,8,8}"


class Recorder(npuflow.Instrumentation):
    """Notes what happens, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.statistics: dict[str, int] = {}

    def before_pass(self, run: PassRun) -> None:
        self.events.append(("before", run.name))

    def after_pass(self, run: PassRun) -> None:
        self.events.append(("after", run.name))
        self.statistics |= run.statistics

    def after_pass_failed(self, run: PassRun) -> None:
        self.events.append(("failed", run.name))


def run(pipeline: str, source: str = MATMUL, stop_after: str | None = None) -> tuple[str, Recorder]:
    recorder = Recorder()
    module = npuflow.parse(source, npuflow.new_context())
    runner = npuflow.Runner(npuflow.parse_pipeline(pipeline), stop_after=stop_after, instrumentations=(recorder,))
    runner.run(module)
    return str(module), recorder


def test_every_pass_is_seen_before_and_after() -> None:
    _, recorder = run("npuflow-check-input,canonicalize,func.func(cse)")
    names = ["npuflow-check-input", "canonicalize", "cse"]
    assert recorder.events == [(when, name) for name in names for when in ("before", "after")]


def test_a_pipeline_stops_after_a_stage() -> None:
    text, recorder = run(STREAM_K, stop_after="tile-cores")
    ran = [name for _, name in recorder.events]
    assert "scf.forall" in text
    assert "npuflow-tile-cores" in ran
    assert "npuflow-promote-accumulator" not in ran


def test_stages_run_one_after_the_other_are_the_whole_pipeline() -> None:
    pipeline = npuflow.parse_pipeline(STREAM_K).elements[0].instance
    module = npuflow.parse(MATMUL, npuflow.new_context())
    for stage in pipeline.stages():
        for element in stage.elements:
            npuflow.run_pipeline(module, str(element))
    assert str(module) == run(STREAM_K)[0]


def test_an_unknown_stage_is_refused_before_anything_runs() -> None:
    with pytest.raises(npuflow.UsageError, match="unknown stage 'tile-core'; hint: did you mean tile-cores"):
        run(STREAM_K, stop_after="tile-core")


def test_a_failing_pass_is_seen_failing_and_nothing_runs_after_it() -> None:
    recorder = Recorder()
    module = npuflow.parse(MATMUL, npuflow.new_context())
    runner = npuflow.Runner(
        npuflow.parse_pipeline("npuflow-assign-strategy{grid=99,1},cse"), instrumentations=(recorder,)
    )
    with pytest.raises(npuflow.InputError, match="grid 99x1"):
        runner.run(module)
    assert recorder.events[-1] == ("failed", "npuflow-assign-strategy")
    assert "npu.strategy" not in str(module)


def test_statistics_count_what_passes_did() -> None:
    _, recorder = run(STREAM_K)
    assert recorder.statistics["matmuls tiled into blocks"] == 1


@dataclass(frozen=True)
class Breaks(npuflow.Pass):
    """Leaves functions without their end, and counts that or doesn't."""

    name: ClassVar[str] = "test-breaks"
    counts_changes: ClassVar[bool] = True
    counted: int = npuflow.option(1, "what it says")

    def run(self, op: ir.Operation, context: npuflow.PassContext) -> None:
        for end in npuflow.ops_of(op, "func.return"):
            end.erase()
        context.count("ends", self.counted)


@pytest.mark.parametrize("counted", [0, 1])
def test_ir_is_verified_after_passes_that_say_they_changed_it(counted: int) -> None:
    """Such a pass is taken at its word; the IR is none that could be printed then."""
    node = PassNode(Breaks(counted), Breaks.name)
    module = npuflow.parse(MATMUL, npuflow.new_context())
    runner = npuflow.Runner(PassNest("builtin.module", (node,)))
    if counted:
        with pytest.raises(npuflow.InternalError, match="pass 'test-breaks' left invalid IR"):
            runner.run(module)
    else:
        runner.run(module)
