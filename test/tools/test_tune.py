"""`npuflow tune` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuflow.tools.npuflow import main
from npuflow.tools.tune import seconds_of

PROGRAM = str(Path(__file__).with_name("run.mlir"))


def test_it_prints_what_it_found_and_writes_what_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, page, data = (tmp_path / name for name in ("tuned.mlir", "tuned.html", "tuned.json"))
    arguments = ["tune", PROGRAM, "--device=toy", "--candidates=10", f"--cache={tmp_path / 'cache'}"]
    assert main([*arguments, "-o", str(program), f"--html={page}", f"--json={data}"]) == 0
    screen = capsys.readouterr().out
    assert "@matmul on toy: " in screen
    assert "11 strategies timed" in screen
    found = json.loads(data.read_text())
    (function,), (unit,) = found["functions"], found["units"]
    assert function["replayed_cycles"] == function["tuned_cycles"] <= function["default_cycles"]
    assert len(unit["groups"][0]["tried"]) == 11
    assert any(one["on_front"] for one in unit["groups"][0]["tried"])
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert main(["run", str(program), "--no-verify", "--json=-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["functions"]
    assert run["cycles"] == function["tuned_cycles"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30.0), ("5min", 300.0), ("1h", 3600.0), ("2", 2.0), ("0.5s", 0.5)]
)
def test_budgets(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--budget=soon", "flag '--budget' cannot be 'soon'"),
        ("--budget=0s", "flag '--budget' cannot be '0s'"),
        ("--candidates=0", "flag '--candidates' cannot be '0'; hint: give a number, 1 or larger"),
        ("--executor=dusk:1", "the executor is 'dusk:1'"),
        ("--executor=dask:", "the executor is 'dask:'"),
        ("--jobs=0", "flag '--jobs' cannot be '0'; hint: give a number, 1 or larger"),
    ],
)
def test_wrong_flags_are_usage_errors(flag: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", PROGRAM, "--device=toy", "--cache=none", flag]) == 2
    assert said in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["tune", PROGRAM, "--device=toy", "--candidates=1", f"--cache={tmp_path / 'file' / 'in'}"]) == 1
    assert "give --cache another directory" in capsys.readouterr().err
