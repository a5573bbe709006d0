"""Named pipelines in each other's stages: every pass in its place, every stage one to stop after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from npuflow.core.expansion import Expansion, TransformSchedule, expand, leaves_of, numbered
from npuflow.core.options import option
from npuflow.core.pipeline_text import PassNest, parse_pipeline
from npuflow.core.registry import PIPELINES, NamedPipeline, Stage
from npuflow.errors import UsageError


@dataclass(frozen=True)
class Inner(NamedPipeline):
    """Two upstream passes that no schedule replaces."""

    name: ClassVar[str] = "test-inner"
    takes_schedule: ClassVar[bool] = False

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("fold", ("canonicalize",)), Stage("merge", ("func.func(cse)",)))


@dataclass(frozen=True)
class Outer(NamedPipeline):
    """The inner one, and a pass."""

    name: ClassVar[str] = "test-outer"
    kept_stages: ClassVar[tuple[str, ...]] = ("tidy",)
    default_resume: ClassVar[str] = "prune"
    device: str = option("", "device name")

    def stages(self) -> tuple[Stage, ...]:
        return (
            Stage("tidy", (Inner.name,)),
            Stage("sink", ("control-flow-sink",)),
            Stage("prune", ("symbol-dce", "canonicalize")),
        )


@dataclass(frozen=True)
class Around(NamedPipeline):
    """A pipeline that holds itself, one level down."""

    name: ClassVar[str] = "test-around"

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("again", ("func.func(test-around)",)),)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    for pipeline in (Inner, Outer, Around):
        monkeypatch.setitem(PIPELINES, pipeline.name, pipeline)


def expanded(text: str, how: Expansion | None = None) -> PassNest:
    return expand(parse_pipeline(text), how)


def test_a_pipeline_in_a_stage_becomes_its_passes() -> None:
    wanted = "builtin.module(canonicalize,func.func(cse),control-flow-sink,symbol-dce,canonicalize)"
    assert str(expanded("test-outer")) == wanted


@pytest.mark.parametrize(
    ("stage", "wanted"),
    [
        ("fold", "builtin.module(canonicalize)"),
        ("merge", "builtin.module(canonicalize,func.func(cse))"),
        ("tidy", "builtin.module(canonicalize,func.func(cse))"),
        ("sink", "builtin.module(canonicalize,func.func(cse),control-flow-sink)"),
    ],
)
def test_one_can_stop_after_stages_of_both(stage: str, wanted: str) -> None:
    assert str(expanded("test-outer,cse", Expansion(stop_after=stage))) == wanted


def test_stages_of_both_are_suggested() -> None:
    with pytest.raises(UsageError, match="unknown stage 'merg'; hint: did you mean merge,"):
        expanded("test-outer", Expansion(stop_after="merg"))


def test_a_schedule_keeps_what_its_pipeline_keeps_whole_and_passes_over_what_takes_none() -> None:
    wanted = (
        "builtin.module(canonicalize,func.func(cse),canonicalize,func.func(cse),"
        "npuflow-apply-schedule{file=s.mlir},symbol-dce,canonicalize)"
    )
    assert str(expanded("test-inner,test-outer", Expansion(schedule=TransformSchedule("s.mlir")))) == wanted


def test_a_pipeline_that_takes_no_schedule_is_none_to_replace_stages_of() -> None:
    with pytest.raises(UsageError, match="replaces stages of a named pipeline, but none runs"):
        expanded("test-inner", Expansion(schedule=TransformSchedule("s.mlir")))


def test_a_pipeline_that_holds_itself_is_refused() -> None:
    with pytest.raises(UsageError, match="pipeline test-around is a part of itself; hint: leave it out of its stages"):
        expanded("test-around")


def test_elements_are_numbered_as_the_passes_in_them_are() -> None:
    pipeline = parse_pipeline("cse,func.func(cse,scf.for(canonicalize),cse),symbol-dce")
    assert [position for position, _ in numbered(pipeline)] == [1, 2, 5]
    inner = pipeline.elements[1]
    assert isinstance(inner, PassNest)
    assert [position for position, _ in numbered(inner, 2)] == [2, 3, 4]
    assert len(list(leaves_of(pipeline))) == 5
