"""`tools/check` runs every step, and nothing that went wrong ends as a success."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest


def steps(check: ModuleType, **codes: str) -> tuple[object, ...]:
    """Steps that run a line of Python each."""
    return tuple(
        check.Step(name, "", lambda _fix, code=code: [check.Command((sys.executable, "-c", code))])
        for name, code in codes.items()
    )


@pytest.mark.parametrize(
    ("code", "passed"),
    [
        ("", True),
        ("import sys; sys.exit(1)", False),
        ("import sys; sys.exit(5)", False),  # pytest's code when it found no tests
        ("import os; os.abort()", False),
    ],
)
def test_a_step_passes_with_exit_code_0_only(check: ModuleType, code: str, passed: bool) -> None:
    (step,) = steps(check, only=code)
    assert check.run_step(step, False, False).passed is passed


def test_a_missing_program_fails_with_a_hint(check: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    step = check.Step("gone", "", lambda _fix: [check.Command(("/no/such/program",))])
    assert not check.run_step(step, False, False).passed
    assert "/no/such/program: No such file or directory; hint: pip install" in capsys.readouterr().out


def test_all_steps_run_and_one_failure_fails_all(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = "import sys; print('why'); sys.exit(1)"
    monkeypatch.setattr(check, "STEPS", steps(check, format=failing, lit="print('2 of 2')", pytest="print('3 passed')"))
    assert check.main([]) == 1
    out = capsys.readouterr().out
    assert "why" in out
    assert "2 of 2" in out.splitlines()[-3]
    assert out.endswith("-- pytest\n3 passed\n")


def test_a_subset_runs_alone(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "STEPS", steps(check, format="import sys; sys.exit(1)", lit=""))
    assert check.main(["lit"]) == 0


def test_an_unknown_step_is_a_usage_error(check: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        check.main(["typos"])
    assert caught.value.code == 2
    assert "unknown step typos; hint: the steps are format, lint, types" in capsys.readouterr().err


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
