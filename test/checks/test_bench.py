"""Compile time grows linearly, what is promised of speed holds, and `tools/bench` would say if not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import stopwatch
from stopwatch import slowness, with_slowness


@pytest.mark.speed
@pytest.mark.parametrize("pipeline", ["npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel"])
def test_ten_times_the_matmuls_take_ten_times_as_long(bench: ModuleType, pipeline: str) -> None:
    # Other tests run beside this one and can only make a run slower, so that one good run of three is proof.
    growths = []
    for _ in range(3):
        growths.append(bench.measure(pipeline, repeat=1).growth)
        if growths[-1] <= bench.LIMIT_GROWTH:
            return
    pytest.fail(f"{pipeline} grows superlinearly: {growths} times linear")


@pytest.mark.speed
def test_ten_times_the_operators_take_ten_times_as_long(bench: ModuleType) -> None:
    found = []
    for _ in range(3):  # as above
        growth, hundred = bench.measure_operators(repeat=1)
        assert [figure.limit for figure in (growth, hundred)] == [1, 5]
        found.append([*growth.problems(), *hundred.problems()])
        if not found[-1]:
            return
    pytest.fail(f"functions of many operators: {found}")


@pytest.mark.parametrize(
    ("seconds", "problems"),
    [
        ((0.010, 0.100, 1.000), []),
        ((0.010, 0.100, 1.299), []),
        ((0.010, 0.100, 1.400), ["p: 100 matmuls take 1.40 times what linear growth allows"]),
        ((0.150, 0.200, 1.000), ["p: one matmul takes 150 ms, more than 100 ms"]),
    ],
)
def test_what_check_reports(bench: ModuleType, seconds: tuple[float, ...], problems: list[str]) -> None:
    assert bench.Timing("p", seconds).problems() == problems


@pytest.mark.parametrize(
    ("value", "limit", "is_floor", "slowness", "problems"),
    [
        (2.9, 1.5, False, 1, []),
        (3.1, 1.5, False, 1, ["it: 3.1 s, 2.1 times off the promised 1.5"]),
        (3.1, 1.5, False, 1.1, []),
        (2.6, 5.0, True, 1, []),
        (2.0, 5.0, True, 1, ["it: 2 s, 2.5 times off the promised 5"]),
        (2.0, 5.0, True, 1.5, []),
        (1e9, None, False, 1, []),
    ],
)
def test_promises_are_held_with_room_for_slow_machines(
    bench: ModuleType, value: float, limit: float | None, is_floor: bool, slowness: float, problems: list[str]
) -> None:
    assert bench.Figure("it", value, "s", limit, is_floor, slowness).problems() == problems


def test_a_slow_processor_is_told_by_how_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= slowness() < 100
    monkeypatch.setattr(stopwatch, "PACE_SECONDS", 1e-6)
    assert slowness() > 1000
    monkeypatch.setattr(stopwatch, "PACE_SECONDS", 1e6)
    assert slowness() == 1


def test_a_processor_is_as_slow_as_before_or_behind_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def pace(factor: float) -> None:
        monkeypatch.setattr(stopwatch, "slowness", lambda: factor)

    for before, behind in ((1.0, 2.0), (2.0, 1.0)):
        pace(before)
        assert with_slowness(lambda behind=behind: pace(behind)) == (None, 2.0)


@pytest.mark.speed
def test_what_is_promised_is_measured_and_held(bench: ModuleType) -> None:
    found = []
    for _ in range(3):  # as above; the first run of a fresh installation reads its files from disk, too
        figures = [*bench.measure_simulator(repeat=1), *bench.measure_shell(repeat=1)]
        promised = [figure for figure in figures if figure.limit is not None]
        assert [(figure.limit, figure.is_floor) for figure in promised] == [(5, True), (1, False), (1.5, False)]
        found.append([problem for figure in promised for problem in figure.problems()])
        if not found[-1]:
            return
    pytest.fail(f"what is promised: {found}")


def test_a_command_that_fails_is_no_time(bench: ModuleType) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        bench.shell(bench.tool("npuflow"), "run", "no-such-file.mlir")


def test_check_fails_where_a_limit_is_exceeded(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "COUNTS", (1, 2, 4))
    monkeypatch.setattr(bench, "LIMIT_SECONDS", 1e-6)
    figures = tmp_path / "figures.json"
    assert bench.main(["--check", "--repeat=1", f"--json={figures}", "npuflow-stream-k"]) == 1
    assert "more than 0 ms" in capsys.readouterr().out
    assert [row["pipeline"] for row in json.loads(figures.read_text())["pipelines"]] == ["npuflow-stream-k"]
