"""`tools/check` and `tools/nightly` run every step, and nothing that went wrong ends as a success."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from steps import ROOT, Command, Step, module, run_step, run_steps

Steps = Callable[..., tuple[Step, ...]]


def running(**codes: str) -> Steps:
    """In place of a tool's steps: some that run a line of Python each."""

    def commands(code: str) -> Callable[[], list[Command]]:
        return lambda: [Command((sys.executable, "-c", code))]

    return lambda **_options: tuple(Step(name, "", commands(code)) for name, code in codes.items())


@pytest.fixture(params=["check", "nightly"])
def either(request: pytest.FixtureRequest) -> ModuleType:
    tool: ModuleType = request.getfixturevalue(request.param)
    return tool


@pytest.mark.parametrize(
    ("code", "passed"),
    [
        ("", True),
        ("import sys; sys.exit(1)", False),
        ("import sys; sys.exit(5)", False),  # pytest's code when it found no tests
        ("import os; os.abort()", False),
    ],
)
def test_a_step_passes_with_exit_code_0_only(code: str, passed: bool) -> None:
    (step,) = running(only=code)()
    assert run_step(step, verbose=False).passed is passed


def test_a_missing_program_fails_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    step = Step("gone", "", lambda: [Command(("/no/such/program",))])
    assert not run_step(step, verbose=False).passed
    assert "/no/such/program: No such file or directory; hint: pip install" in capsys.readouterr().out


def test_all_steps_run_and_one_failure_fails_all(
    either: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = "import sys; print('why'); sys.exit(1)"
    monkeypatch.setattr(either, "steps", running(format=failing, lit="print('2 of 2')", pytest="print('3 passed')"))
    assert either.main([]) == 1
    before, _, summary = capsys.readouterr().out.partition("-- summary")
    assert "why" in before
    assert "FAILED" in summary
    assert "2 of 2" in summary
    assert summary.endswith("3 passed\n")


def test_steps_that_share_the_machine_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    slow, quick = (
        Step(name, "", lambda code=code: [module("timeit", "-n1", "-r1", code)], shares=True)  # type: ignore[misc]
        for name, code in (("slow", "import time; time.sleep(0.5)"), ("quick", "print('said')"))
    )
    outcomes = run_steps([slow, quick], verbose=True)
    assert [(outcome.step.name, outcome.passed) for outcome in outcomes] == [("slow", True), ("quick", True)]
    # What a step says stands together, behind its line.
    printed = capsys.readouterr().out
    assert re.search(r"quick +ok.*\nsaid", printed)
    assert printed.index("quick") < printed.index("slow")


def test_a_subset_runs_alone(either: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(either, "steps", running(format="import sys; sys.exit(1)", lit=""))
    assert either.main(["lit"]) == 0


@pytest.mark.parametrize(("name", "first"), [("check", "format, lint, types"), ("nightly", "operators, wide")])
def test_an_unknown_step_is_a_usage_error(
    name: str, first: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        request.getfixturevalue(name).main(["typos"])
    assert caught.value.code == 2
    assert f"unknown step typos; hint: the steps are {first}" in capsys.readouterr().err


def test_no_step_begins_when_its_time_is_over(
    nightly: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nightly, "steps", running(matrix="import sys; sys.exit(1)"))
    assert nightly.main(["--minutes=0"]) == 0
    assert capsys.readouterr().out.endswith("-- summary\nmatrix     left out: 0 minutes are over\n")


def test_nightly_runs_what_there_is(nightly: ModuleType) -> None:
    """All files exist that steps name, each test file is in one step only, and the number of examples gets there."""
    commands = [command for step in nightly.steps(examples=7) for command in step.commands()]
    drawing = [command for command in commands if "pytest" in command.argv]
    assert all(dict(command.environment)["NPUFLOW_TEST_EXAMPLES"] == "7" for command in drawing)
    *own, others = ([part for part in command.argv if "test/" in part] for command in drawing)
    named = [path for paths in own for path in paths]
    assert sorted(f"--ignore={path}" for path in named) == sorted(others)
    scripts = [command.argv[1] for command in commands if command.argv[1].startswith(str(ROOT))]
    assert [path for path in (*named, *scripts) if not (ROOT / path).is_file()] == []


def test_pytests_closing_lines_are_those_of_all_its_runs(check: ModuleType) -> None:
    lines = [
        "..",
        "2 passed, 9 deselected in 4.00s",
        "....",
        "FAILED test/x.py",
        "1 failed, 8 passed in 75.85s (0:01:15)",
    ]
    assert check.pytest_summary(lines) == [lines[1], lines[4]]
    assert check.pytest_summary(["no tests ran in 0.01s"]) == ["no tests ran in 0.01s"]
    assert check.pytest_summary(["ImportError: no module"]) == ["ImportError: no module"]


def test_lits_closing_lines_are_its_totals(check: ModuleType) -> None:
    lines = ["PASS: a", "Testing Time: 1s", "Total Discovered Tests: 2", "  Passed: 2 (100.00%)"]
    assert check.lit_summary(lines) == lines[2:]
    assert check.lit_summary(["lit: fatal error"]) == ["lit: fatal error"]
    assert check.lit_summary([]) == []
