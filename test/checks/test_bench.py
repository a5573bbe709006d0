"""Compile time grows linearly with the number of matmuls, for every pipeline; and `tools/bench` would say if not."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.speed
@pytest.mark.parametrize("pipeline", ["npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel"])
def test_ten_times_the_matmuls_take_ten_times_as_long(bench: ModuleType, pipeline: str) -> None:
    # Other tests run beside this one and can only make a run slower, so that one good run of three is proof.
    growths = []
    for _ in range(3):
        growths.append(bench.measure(pipeline, repeat=2).growth)
        if growths[-1] <= bench.LIMIT_GROWTH:
            return
    pytest.fail(f"{pipeline} grows superlinearly: {growths} times linear")


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


def test_check_fails_where_a_limit_is_exceeded(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "COUNTS", (1, 2, 4))
    monkeypatch.setattr(bench, "LIMIT_SECONDS", 1e-6)
    figures = tmp_path / "figures.json"
    assert bench.main(["--check", "--repeat=1", f"--json={figures}", "npuflow-stream-k"]) == 1
    assert "more than 0 ms" in capsys.readouterr().out
    assert [row["pipeline"] for row in json.loads(figures.read_text())["pipelines"]] == ["npuflow-stream-k"]
