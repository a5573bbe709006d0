"""`npuflow ablate`: the times without each decision are those of runs without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import npuflow
from npuflow.errors import ExitCode, InputError
from npuflow.network.decisions import OF_PARTS, OF_PASSES, Decision
from npuflow.tools.ablate import run

NAMES = [one.value for one in Decision if one in OF_PARTS | {Decision.FUSION, Decision.MASKS, Decision.TRIES}]
BLOCK = Path(__file__).resolve().parents[2] / "examples" / "block.mlir"
WHOLE = Path(__file__).parent / "run.mlir"


def test_rows_are_what_runs_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "table.json"
    assert run([str(BLOCK), "--device=npu2", "--jobs=1", f"--json={file}"]) is ExitCode.OK
    (function,) = json.loads(file.read_text())["functions"]
    rows = {",".join(row["without"]): row for row in function["rows"]}
    assert list(rows) == ["", *NAMES, ",".join(NAMES)]
    for disable in ("", "phases", "ahead", "residency"):
        compiled = npuflow.compile(BLOCK, device="npu2", disable=disable.split(",") if disable else ())
        (sequence,) = compiled.run(verify=False).sequences
        row = rows[disable]
        assert row["time_us"] == pytest.approx(sequence.time_us)
        assert row["change_us"] == pytest.approx(sequence.change_us)
        assert row["alive_bytes"] == sequence.plan.alive_bytes
        assert row["moved_bytes"] == sequence.moved_bytes
    screen = capsys.readouterr().out
    assert [line.split()[0] for line in screen.splitlines()[2:-1]] == ["nothing", *NAMES]
    assert screen.splitlines()[-1].split()[:3] == ["all", "of", "them"]


def test_what_runs_as_a_whole_has_nothing_to_leave_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(WHOLE), "--device=toy", "--jobs=1"]) is ExitCode.OK
    assert "runs as a whole: there is nothing to leave out" in capsys.readouterr().out


def test_what_passes_decide_is_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "table.json"
    example = BLOCK.parent / "linear_relu.mlir"
    assert run([str(example), "--device=npu4.0:1x1", "--jobs=1", "--add", f"--json={file}"]) is ExitCode.OK
    (function,) = json.loads(file.read_text())["functions"]
    assert [row["without"] for row in function["rows"]] == [
        ["fusion", "masks", "reshape", "padding", "engines", "tries"],
        ["masks", "reshape", "padding", "engines", "tries"],
        ["reshape", "padding", "engines", "tries"],
        ["padding", "engines", "tries"],
        ["engines", "tries"],
        ["tries"],
        [],
    ]
    times = [row["time_us"] for row in function["rows"]]
    # There are no two matmuls in a row, and no windows.
    assert times[0] == times[1] == times[2] > times[3] == times[4] > times[5] == times[6]
    named = [line[2:15].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert named == ["none of them", "+ fusion", "+ masks", "+ reshape", "+ padding", "+ engines", "+ tries"]
    (alone,) = npuflow.compile(example, device="npu4.0:1x1", disable=["reshape", "engines"]).run(verify=False).functions
    assert alone.time_us == pytest.approx(times[2])


def test_help_names_what_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) is ExitCode.OK
    words = capsys.readouterr().out.replace("(", " ").replace(")", " ").replace(",", " ").split()
    assert {one.value for one in OF_PASSES} <= {*words}


def test_a_file_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot open input file 'gone\.mlir': no such file"):
        run(["gone.mlir"])
