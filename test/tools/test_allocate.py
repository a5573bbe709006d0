"""`npuflow allocate` as a user calls it."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from npuflow.allocate.check import packing_problems
from npuflow.allocate.problem import LiveBuffer, Packing
from npuflow.allocate.solve import AllocationMethod, allocate
from npuflow.tools.npuflow import main

HARD = Path(__file__).resolve().parents[1] / "allocate" / "Inputs"
SMALL = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,2\n"

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.csv"
    file.write_text(SMALL)
    return file


def test_a_hard_problem_is_packed_and_written(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.csv"
    file = HARD / "C.1048576.csv"
    assert main(["allocate", str(file), "-o", str(out), "--capacity", "1048576"]) == 0
    printed = capsys.readouterr().out
    assert re.match(r"203 buffers in \d+ of 1048576 bytes, by exact: 0\.\d% more than the bound of 1039360\n", printed)
    with out.open() as text:
        rows = list(csv.DictReader(text))
    assert [(row["id"], row["size"]) for row in rows] == [
        (row["id"], row["size"]) for row in csv.DictReader(file.read_text().splitlines())
    ]
    buffers = [LiveBuffer(r["id"], int(r["lower"]), int(r["upper"]), int(r["size"])) for r in rows]
    assert packing_problems(buffers, [int(row["offset"]) for row in rows], 1048576) == []
    assert main(["allocate", str(out), "-o", str(tmp_path / "again.csv"), "--capacity", "1048576"]) == 0
    assert (tmp_path / "again.csv").read_text() == out.read_text()


def test_without_a_capacity_the_least_is_said(small: Path, capsys: Capture) -> None:
    assert main(["allocate", str(small), "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["id,lower,upper,size,offset", "a,0,2,4,0", "b,1,3,4,4", "c,2,4,2,0"]
    assert err == "3 buffers in 8 bytes, by exact: no packing needs less\n"


def test_nothing_is_said_of_what_cannot_be_written(small: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["allocate", str(small), "-o", str(tmp_path / "none" / "out.csv")]) == 1
    said = capsys.readouterr()
    assert "cannot open output file" in said.err
    assert said.out == ""


@pytest.mark.parametrize("method", ["colouring", "greedy"])
def test_baselines_can_be_chosen(method: str, small: Path, capsys: Capture) -> None:
    assert main(["allocate", str(small), f"--method={method}"]) == 0
    assert f"by {method}" in capsys.readouterr().out
    hard = str(HARD / "A.1048576.csv")
    assert main(["allocate", hard, f"--method={method}", "--capacity=1048576"]) == 1
    err = capsys.readouterr().err
    assert f"{method} needs" in err
    assert "hint: --method=exact" in err


def test_what_no_packing_can_do_is_proved(tmp_path: Path, capsys: Capture) -> None:
    aligned = tmp_path / "aligned.csv"
    aligned.write_text("id,lower,upper,size,alignment\na,0,1,3,4\nb,0,1,3,4\nc,0,1,3,4\n")
    assert main(["allocate", str(aligned), "--capacity=10", "-o", str(tmp_path / "none.csv")]) == 1
    assert "no packing fits into 10 bytes: at least 11 are needed" in capsys.readouterr().err
    assert not (tmp_path / "none.csv").exists()


def test_a_budget_that_is_over_is_said(capsys: Capture) -> None:
    assert main(["allocate", str(HARD / "E.1048576.csv"), "--capacity=1048576", "--budget=0s"]) == 1
    assert "no packing into 1048576 bytes was found in 0s; there is one into" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "expected one CSV file, got 0"),
        (["a.csv", "b.csv"], 2, "expected one CSV file, got 2"),
        (["/nowhere.csv"], 1, "cannot read '/nowhere.csv': No such file or directory; hint: check the path"),
        (["SMALL", "--method=gredy"], 2, "did you mean greedy"),
        (["SMALL", "--capacity=-1"], 2, "--capacity"),
        (["SMALL", "--capacity=3"], 1, "small.csv:2: error: buffer a has 4 bytes, the capacity is 3"),
        (["SMALL", "--capacity=7"], 1, "at time 1 2 buffers live that need 8 bytes, the capacity is 7"),
        (["SMALL", "--budget=soon"], 2, "flag '--budget' cannot be 'soon'"),
        (["SMALL", "-o", "SMALL"], 2, "would overwrite the input"),
        (["SMALL", "--capcity=3"], 2, "did you mean"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, small: Path, capsys: Capture) -> None:
    assert main(["allocate", *(str(small) if word == "SMALL" else word for word in arguments)]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "seconds"),
    [([], 5), (["--capacity=16"], 30), (["--budget=2s"], 2), (["--capacity=16", "--budget=1m"], 60)],
)
def test_less_is_looked_for_shorter_than_what_fits(
    flags: list[str], seconds: float, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def noted(buffers: Sequence[LiveBuffer], method: AllocationMethod, capacity: int | None, limit: float) -> Packing:
        asked.append(limit)
        return allocate(buffers, method, capacity, limit)

    monkeypatch.setattr("npuflow.allocate.solve.allocate", noted)
    assert main(["allocate", str(small), *flags]) == 0
    assert asked == [seconds]


def test_the_page_has_a_rectangle_for_each_buffer(small: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["allocate", str(small), "--capacity=16", f"--html={page}"]) == 0
    text = page.read_text()
    svg = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + len("</svg>")])
    boxes = [{key: float(box.get(key, "")) for key in ("x", "y", "width", "height")} for box in svg.iter("rect")]
    # 4 time steps are 1200 wide, 16 bytes 700 high.
    assert boxes[1] == {"x": 300, "y": 350, "width": 600, "height": 175}
    assert [title.text for title in svg.iter("title")][1] == "b: 4 bytes at 4, from 1 to 3"
    assert len(list(svg.iter("line"))) == 1
    assert "http" not in text
