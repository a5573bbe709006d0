"""`npuflow order` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuflow.tools.npuflow import main


def test_the_screen_has_every_order_and_the_best_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "--grid", "4x4", "--capacity", "4", "--policy", "lru"]) == 0
    lines = capsys.readouterr().out.splitlines()
    sums = {line.split()[0]: line.split()[1] for line in lines if line.startswith("  ") and len(line.split()) > 10}
    assert sums["optimum"] == "10"
    assert (sums["row-major"], sums["z"], sums["grouped-snake-2"]) == ("20", "14", "11")
    assert "no order takes fewer than 10" in lines[1]
    assert sorted(int(number) for line in lines[-4:] for number in line.split()) == list(range(1, 17))


def test_json_on_stdout_is_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", "--grid=3x4", "--capacity=3", "--json", "--write-back"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["optimum"], found["is_exact"], found["lower_bound"]) == (9 + 12, True, 21)
    assert found["compulsory"] == 3 + 4 + 12
    for one in found["orders"].values():
        assert one["total"] == one["loads"] + one["writes"] == sum(one["loads_per_step"]) + 12
        assert sorted(map(tuple, one["tiles"])) == [(row, column) for row in range(3) for column in range(4)]
    assert found["orders"]["optimum"]["loads"] == 9


def test_json_in_a_file_leaves_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "order.json"
    assert main(["order", "--grid=40x30", "--capacity=6", f"--json={path}"]) == 0
    screen = capsys.readouterr().out
    found = json.loads(path.read_text())
    assert found["is_exact"] is False
    assert f"no order takes fewer than {found['lower_bound']}; the best known takes {found['optimum']}" in screen
    assert "tile by tile" not in screen


def test_fewer_states_leave_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for states in ("0", "100000"):
        assert main(["order", "--grid=5x6", "--capacity=3", f"--states={states}", "--json"]) == 0
        found[states] = json.loads(capsys.readouterr().out)
    assert (found["0"]["is_exact"], found["100000"]["is_exact"]) == (False, True)
    assert found["0"]["lower_bound"] < found["100000"]["lower_bound"] == found["100000"]["optimum"]


def test_the_page_is_written_where_one_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    assert main(["order", "--explore", "-o", str(path), "--grid=2x3", "--capacity=3"]) == 0
    assert str(path) in capsys.readouterr().out
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--grid=4"], 2, "give rows and columns, as 4x4"),
        (["--grid=4x-1"], 2, "give rows and columns"),
        (["--grid=0x4"], 1, "0x4 has no tiles"),
        (["--grid=4x4", "--capacity=1"], 1, "there is room for 1"),
        (["--grid=99999x99999"], 1, "take larger tiles"),
        (["--policy=fifo"], 2, "did you mean"),
        (["4x4"], 2, "unexpected argument '4x4'"),
        (["-o", "x.html"], 2, "add --explore"),
        (["--explore", "-o", "/nowhere/x.html"], 1, "/nowhere/x.html"),
        (["--explore", "-o=x", "--json=x"], 2, "both write to 'x'"),
        (["--capcity=3"], 2, "did you mean --capacity"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["order", *arguments]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
