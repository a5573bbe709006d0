"""`npuflow validate` as a user calls it."""

import json
from pathlib import Path

import pytest

from npuflow.tools.npuflow import main

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "benchmarks" / "measurements" / "npu_measurements.csv"


def some_rows(path: Path, *wanted: str) -> Path:
    """The rows whose ids begin so; gelu becomes an operator that nobody has heard of."""
    lines = MEASURED.read_text().splitlines()
    rows = [line.replace(",gelu,", ",mystery,") for line in lines if line.startswith(wanted)]
    path.write_text("\n".join([lines[0], *rows]) + "\n")
    return path


def test_rows_summary_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some_rows(tmp_path / "some.csv", "npu2-matmul-bf16-bf16-512", "npu1-core_kernel-i8-i8", "npu2-gelu")
    assert main(["validate", str(rows), "--json", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    assert "npu2-matmul-bf16-bf16-512-512-512-drain-32-32-8" in printed
    assert "not yet supported: 3 rows" in printed
    report = json.loads((tmp_path / "out.json").read_text())
    assert len(report["rows"]) == 4
    for row in report["rows"]:
        assert row["error"] == pytest.approx(row["predicted_us"] / row["measured_us"] - 1, abs=1e-3)
    everything = report["summary"][-1]
    assert (everything["group"], everything["rows"]) == ("all", 4)
    assert everything["mean"] == pytest.approx(sum(abs(row["error"]) for row in report["rows"]) / 4, abs=1e-4)
    assert {row["reason"] for row in report["unsupported"]} == {"operator mystery"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "expected one CSV file, got 0"),
        (["a.csv", "--jsn=x"], 2, "did you mean"),
        (["/nowhere.csv"], 1, "cannot read '/nowhere.csv'"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *arguments]) == code
    assert said in capsys.readouterr().err


def test_nothing_to_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some_rows(tmp_path / "some.csv", "npu2-gelu")
    assert main(["validate", str(rows)]) == 1
    assert "none of the 3 rows" in capsys.readouterr().err


def test_the_whole_file_is_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(MEASURED), "--json", str(tmp_path / "out.json")]) == 0
    capsys.readouterr()
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["unsupported"] == []
    *groups, everything = report["summary"]
    assert everything["rows"] == len(MEASURED.read_text().splitlines()) - 1
    assert everything["mean"] < 0.06
    # The same shape measured again differs by 5 to 15 %; docs/simulator.md explains the rows that are further off.
    assert max(group["median"] for group in groups) < 0.08
