"""`npuflow validate` as a user calls it."""

import json
from pathlib import Path

import pytest
from profiles import NIGHTLY

from npuflow.tools.npuflow import main

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "benchmarks" / "measurements" / "npu_measurements.csv"
OTHERS = MEASURED.with_name("npu_measurements_2.csv")
SEQUENCES = MEASURED.with_name("npu_sequences.csv")


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
        (["a.csv", "--candidates=3"], 2, "--candidates without --choose"),
        (
            ["a.csv", "--choose", "--candidates=0"],
            2,
            "flag '--candidates' cannot be '0'; hint: give a number, 1 or larger",
        ),
        (["a.csv", "--choose", "--jobs=0"], 2, "flag '--jobs' cannot be '0'; hint: give a number, 1 or larger"),
        (["a.csv", "--choose", "--cache=here"], 2, "--cache without --candidates"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *arguments]) == code
    assert said in capsys.readouterr().err


def test_nothing_to_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some_rows(tmp_path / "some.csv", "npu2-gelu")
    assert main(["validate", str(rows)]) == 1
    assert "none of the 3 rows" in capsys.readouterr().err


def test_measured_rows_are_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = every_third(MEASURED, tmp_path / "rows.csv")
    assert main(["validate", str(file), "--json", str(tmp_path / "out.json")]) == 0
    capsys.readouterr()
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["unsupported"] == []
    *groups, everything = report["summary"]
    assert everything["rows"] == len(file.read_text().splitlines()) - 1
    assert everything["mean"] < 0.06
    # The same shape measured again differs by 5 to 15 %; docs/simulator.md explains the rows that are further off.
    assert max(group["median"] for group in groups) < 0.08


def every_third(file: Path, path: Path) -> Path:
    """A third of a file's rows, at night all: neighbours are of one kind and source."""
    if NIGHTLY:
        return file
    head, *rows = file.read_text().splitlines()
    path.write_text("\n".join([head, *rows[::3]]) + "\n")
    return path


def test_other_peoples_designs_are_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = every_third(OTHERS, tmp_path / "rows.csv")
    assert main(["validate", str(file), "--pairs", "--json", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["unsupported"] == []
    ids = [line.partition(",")[0] for line in file.read_text().splitlines()[1:]]
    assert [row["id"] for row in report["rows"]] == ids
    everything = report["summary"][-1]
    # Two thirds of what rooflines miss that are fitted to each source, type and kind of kernel.
    assert everything["mean"] < min(0.065, everything["roofline_mean"] * 0.7)
    rankings = {one["device"]: one for one in report["pairs"]}
    assert all(one["right"] / one["pairs"] > 0.9 for one in rankings.values())
    assert set(rankings) == {"npu1", "npu2"}
    assert "which of two designs of equal work is faster" in printed


def test_sequences_are_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(SEQUENCES), "--json", str(tmp_path / "out.json")]) == 0
    capsys.readouterr()
    report = json.loads((tmp_path / "out.json").read_text())
    assert len(report["rows"]) == 5
    assert max(abs(row["error"]) for row in report["rows"]) < 0.15
    # Attention is no operator that measurements describe.
    assert {row["reason"] for row in report["unsupported"]} == {"operator attention"}


def test_tiles_of_a_systolic_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.csv"
    lines = MEASURED.with_name("systolic_pairs.csv").read_text().splitlines()
    huge = "huge,matmul_pair,4096,4096,4096,4096,1024,1024,1024,1000,,,,"
    rows.write_text("\n".join([lines[0], lines[7], huge, lines[9]]) + "\n")
    assert main(["validate", str(rows), "--json", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    assert "words read from DRAM and written to it are as measured in 2 of 2 rows" in printed
    assert "not yet supported: 1 rows" in printed
    report = json.loads((tmp_path / "out.json").read_text())
    measured = dict(zip(lines[0].split(","), lines[7].split(","), strict=True))
    first, second = report["rows"]
    assert (first["id"], second["id"]) == (measured["id"], lines[9].partition(",")[0])
    assert first["predicted_cycles"] == first["measured_cycles"] == int(measured["cycles"])
    assert first["predicted_words_read"] == int(measured["words_read"])
    assert first["predicted_words_written"] == int(measured["words_written"])
    assert [one["id"] for one in report["unsupported"]] == ["huge"]


@pytest.mark.parametrize("flag", ["--pairs", "--choose"])
def test_a_systolic_arrays_rows_are_no_designs(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(MEASURED.with_name("systolic_pairs.csv")), flag]) == 2
    assert f"leave out {flag}" in capsys.readouterr().err


def test_no_rows_of_a_systolic_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,op,M,K,N,tile_m,tile_k,tile_n,cycles\nhuge,matmul,9999,9999,9999,9999,9999,9999,1\n")
    assert main(["validate", str(rows)]) == 1
    assert "none of the 1 rows" in capsys.readouterr().err


def test_no_two_rows_of_equal_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some_rows(tmp_path / "some.csv", "npu2-add-bf16-bf16-1048576")
    assert main(["validate", str(rows), "--pairs"]) == 0
    assert "no two rows are of equal work" in capsys.readouterr().out


def test_choices_beside_designs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some_rows(
        tmp_path / "some.csv", "npu2-matmul-bf16-bf16-64-32-720", "npu2-matmul-bf16-bf16-192-64", "npu2-add"
    )
    arguments = ["--choose", "--candidates=2", "--cache=none", "--jobs=1", "--json", str(tmp_path / "out.json")]
    assert main(["validate", str(rows), *arguments]) == 0
    printed = capsys.readouterr().out
    assert "default over design: 0." in printed
    assert "tuned over design: 0." in printed
    report = json.loads((tmp_path / "out.json").read_text())
    chosen = [row["choice"] for row in report["rows"] if "choice" in row]
    assert len(chosen) == 2
    for one in chosen:
        assert one["default"]["ratio"] == pytest.approx(one["default"]["us"] / one["design"]["us"], abs=1e-3)
        assert one["tuned"]["ratio"] <= one["default"]["ratio"]
    mean = (chosen[0]["default"]["ratio"] * chosen[1]["default"]["ratio"]) ** 0.5
    assert report["choices"]["default"]["geometric_mean"] == pytest.approx(mean, abs=1e-4)
    others = [row["id"] for row in report["rows"] if "choice" not in row]
    assert [one["id"] for one in report["choices"]["not_compared"]] == others
    assert f"no choice for {len(others)} rows" in printed
