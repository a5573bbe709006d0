"""Passes that count what they change change nothing where they count nothing, so that nobody verifies that again."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuflow
import npuflow.pipelines  # registers them
from npuflow.core.expansion import expand, leaves_of
from npuflow.core.pipeline_text import PassNode, parse_pipeline
from npuflow.core.runner import PassRun

NORMALIZE = "npuflow-normalize-linalg"
PASSES = {
    leaf.name
    for _, leaf in leaves_of(expand(parse_pipeline(NORMALIZE)))
    if isinstance(leaf, PassNode) and leaf.instance.counts_changes
}
INPUTS = [Path(__file__).with_name(f"{name.removeprefix('npuflow-')}.mlir") for name in sorted(PASSES)]


class Counts(npuflow.Instrumentation):
    """Which passes changed the IR, and which said that they did."""

    def __init__(self) -> None:
        self.changed: dict[str, bool] = {}
        self.said: dict[str, bool] = {}
        self._before = ""

    def before_pass(self, run: PassRun) -> None:
        self._before = str(run.op)

    def after_pass(self, run: PassRun) -> None:
        if not (isinstance(run.leaf, PassNode) and run.leaf.instance.counts_changes):
            return
        self.changed[run.name] = str(run.op) != self._before
        self.said[run.name] = any(run.statistics.values())


def counted(text: str) -> list[Counts]:
    """What each of a file's programs makes the passes count."""
    found = []
    for part in text.split("// -----"):
        counts = Counts()
        module = npuflow.parse(part, npuflow.new_context())
        npuflow.Runner(parse_pipeline(NORMALIZE), instrumentations=(counts,)).run(module)
        found.append(counts)
    return found


@pytest.mark.parametrize("file", INPUTS, ids=lambda file: file.stem)
def test_what_is_counted_is_what_changes(file: Path) -> None:
    for counts in counted(file.read_text(encoding="utf-8")):
        assert counts.said == counts.changed


def test_the_inputs_make_every_such_pass_change_something_and_leave_something_as_it_is() -> None:
    found = [counts for file in INPUTS for counts in counted(file.read_text(encoding="utf-8"))]
    for wanted in (True, False):
        assert {name for counts in found for name, changed in counts.changed.items() if changed is wanted} == PASSES
