"""`npuflow split` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuflow.tools.npuflow import main

CASES = Path(__file__).resolve().parents[1] / "split" / "Inputs" / "conv_tiles.json"


def test_a_layer(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--input=1,32,64,64", "--channels=256", "--kernel=3,3", "--pads=1,1,1,1", "--tiles=1,1,2,1"]
    assert main(["split", *sizes, "--json", "-"]) == 0
    ((first, _),) = (case["tiles"] for case in json.loads(capsys.readouterr().out))
    assert first == json.loads(CASES.read_text())[0]["tiles"][0]


def test_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["split", "--size=65", "--chain=5p2,1", "--tiles=6"]) == 0
    found = [line.split(",")[0] for line in capsys.readouterr().out.splitlines() if "tile " in line and ": " in line]
    spans = ("0+13", "9+15", "20+15", "31+15", "42+15", "53+12")
    assert found == [f"  tile {at}: argument {span}" for at, span in enumerate(spans)]


def test_steps_of_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["split", "--size=64", "--chain=3p1,3s2p0:1,1,add@2", "--tiles=2", "--alignment=8"]) == 0
    printed = capsys.readouterr().out
    assert "chain of argument 64, step1 64, step2 32, step3 32, step4 32, 2 tiles" in printed
    assert "step4 reads step2 0+16" in printed


def test_a_file_of_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["split", str(CASES), "--json", str(tmp_path / "out.json")]) == 0
    assert "Convolution 1x32x64x64 to 1x256x64x64, 1x1x2x1 tiles" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "out.json").read_text())) == len(json.loads(CASES.read_text()))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "expected a file, --input of a layer or --chain"),
        (["--input=1,1,1,1", "--chain=3"], 2, "and one of them"),
        (["--input=1,2,3", "--tiles=1,1,1,1"], 2, "flag '--input' cannot be '1,2,3'"),
        (["--input=1,2,3,4", "--tiles=1"], 2, "flag '--tiles' cannot be '1'"),
        (["--chain=x", "--size=4", "--tiles=1"], 2, "flag '--chain' has a step 'x'"),
        (["--chain=3", "--tiles=1"], 1, "'size' is None"),
        (["--input=1,2,3,4", "--tiles=1,1,4,1"], 1, "3 in 4 tiles leaves 0 for the last one"),
        (["/nowhere.json"], 1, "cannot read '/nowhere.json'"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["split", *arguments]) == code
    assert said in capsys.readouterr().err


def test_json_that_is_none_is_located(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text('{"size": 4,\n "chain": }')
    assert main(["split", str(tmp_path / "bad.json")]) == 1
    assert "bad.json:2:11: error: this is no JSON: expecting value; hint:" in capsys.readouterr().err
