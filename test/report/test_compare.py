"""What two reports have in common, what differs, and files that are no reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matmuls import SMALL, TILES, matmul

import npuflow
from npuflow.errors import InputError
from npuflow.report.compare_differences import Pairing, RunPair, compared
from npuflow.report.compare_json import comparison_dict
from npuflow.report.compare_read import ComparedReport, ComparedRun, read_report
from npuflow.report.compare_text import comparison_text

BLOCK = Path(__file__).resolve().parents[2] / "examples" / "block.mlir"


def report_in(folder: Path, name: str, source: str | Path = SMALL, options: str = TILES, device: str = "toy") -> str:
    file = folder / f"{name}.json"
    file.write_text(npuflow.compile(source, f"npuflow-stream-k{options}", device=device).run(verify=False).json())
    return str(file)


def numbers(pair: RunPair) -> dict[tuple[str, str], tuple[float, float]]:
    return {(one.section, one.name): (one.first, one.second) for one in pair.numbers}


def test_what_differs_is_what_both_reports_say(tmp_path: Path) -> None:
    files = report_in(tmp_path, "a"), report_in(tmp_path, "b", options="{grid=2,2 tile-l2=32,16,64 tile-l1=16,8,16}")
    first, second = map(read_report, files)
    pairing = compared(first, second)
    (pair,) = pairing.pairs
    before, after = (json.loads(Path(file).read_text())["functions"][0] for file in files)
    found = numbers(pair)
    assert found["time", "time"] == pytest.approx((before["time_us"] / 1e6, after["time_us"] / 1e6))
    for level in ("L3", "L2"):
        for said, key in (("read", "read_bytes"), ("written", "write_bytes")):
            assert found["traffic", f"{level} {said}"] == (before["traffic"][level][key], after["traffic"][level][key])
    saved = [{one["name"]: one["saved_us"] / 1e6 for one in report["losses"]} for report in (before, after)]
    for name in {*saved[0], *saved[1]}:
        assert found["losses", name] == pytest.approx((saved[0].get(name, 0.0), saved[1].get(name, 0.0)))
    assert found["energy", "in all"] == pytest.approx((before["energy"]["joules"], after["energy"]["joules"]))
    assert found["energy", "core, i8 x i8 -> i32"][0] == pytest.approx(64 * 64 * 128 * 0.1e-12)
    texts = {one.name: (one.first, one.second) for one in pair.texts}
    assert texts["tile-l1"] == ("16x16x32", "16x8x16")
    assert "grid" not in texts
    lines = comparison_text(first, second, pairing).splitlines()
    assert any(line.split() == ["tile-l2", "32x32x64", "->", "32x16x64"] for line in lines)
    growth = found["time", "time"][1] / found["time", "time"][0] - 1
    assert growth > 0
    assert f"+{100 * growth:.0f} %; 0 faster, 1 slower, 0 as long as before" in lines[-1]


def test_a_report_against_itself_differs_in_nothing(tmp_path: Path) -> None:
    report = read_report(report_in(tmp_path, "a", BLOCK, "", "npu2"))
    pairing = compared(report, report)
    assert not pairing.is_change
    text = comparison_text(report, report, pairing)
    assert "nothing differs in @block" in text
    assert "0 faster, 0 slower, 1 as long as before" in text


def test_a_sequence_is_its_calls_together(tmp_path: Path) -> None:
    file = report_in(tmp_path, "a", BLOCK, "", "npu2")
    (run,) = read_report(file).runs
    data = json.loads(Path(file).read_text())
    assert [part.name for part in run.parts] == data["sequences"][0]["parts"]
    change_us = data["sequences"][0]["change_us"]
    assert sum(part.time_us for part in run.parts) == pytest.approx(run.time_us - change_us)
    assert run.traffic is not None
    assert run.traffic["L3 read"] == sum(f["traffic"]["L3"]["read_bytes"] for f in data["functions"])
    assert sum((run.energy or {}).values()) == pytest.approx(data["sequences"][0]["energy"]["joules"])


def test_another_device_is_said(tmp_path: Path) -> None:
    files = report_in(tmp_path, "a"), report_in(tmp_path, "b", device="npu1", options="")
    first, second = map(read_report, files)
    text = comparison_text(first, second, compared(first, second))
    assert "toy (2x2 cores, 1 GHz) -> npu1 (4x4 cores, 1 GHz); what differs is the device's doing as well" in text


def test_what_a_device_says_nothing_of_is_not_nothing(tmp_path: Path, silent: str) -> None:
    files = report_in(tmp_path, "a"), report_in(tmp_path, "b", device=silent, options="")
    (pair,) = compared(*map(read_report, files)).pairs
    assert not any(section == "energy" for section, _ in numbers(pair))


def run_of(name: str, shape: str, time_us: float = 1.0, kinds: str = "") -> ComparedRun:
    return ComparedRun(name, f"@{name}({shape}", time_us, 1, "ok", kinds=kinds)


def pairing_of(first: list[ComparedRun], second: list[ComparedRun]) -> Pairing:
    return compared(*(ComparedReport(file, "d", "p", tuple(runs)) for file, runs in (("a", first), ("b", second))))


def names(pairing: Pairing) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    pairs = [(pair.first.name, pair.second.name) for pair in pairing.pairs]
    return pairs, [run.name for run in pairing.only_first], [run.name for run in pairing.only_second]


def test_names_come_before_places() -> None:
    before = [run_of("a", "x"), run_of("b", "x"), run_of("c", "y")]
    after = [run_of("b", "x"), run_of("d", "x"), run_of("e", "z")]
    assert names(pairing_of(before, after)) == ([("a", "d"), ("b", "b")], ["c"], ["e"])


def test_a_part_that_is_added_shifts_no_other() -> None:
    def sequence(*parts: str) -> ComparedRun:
        made = tuple(run_of(f"f_{i}", shape) for i, shape in enumerate(parts))
        return ComparedRun("f", "@f()", 1.0, 1, "ok", parts=made)

    (pair,) = pairing_of([sequence("p", "q", "r")], [sequence("p", "new", "q", "s")]).pairs
    assert pair.parts is not None
    assert names(pair.parts) == ([("f_0", "f_0"), ("f_1", "f_2"), ("f_2", "f_3")], [], ["f_1"])


def test_a_function_that_came_apart_is_still_itself() -> None:
    whole, parts = run_of("f", "x"), ComparedRun("f", "@f(x", 2.0, 1, "ok", parts=(run_of("f_0", "x"),))
    (pair,) = pairing_of([whole], [parts]).pairs
    assert [(text.name, text.first, text.second) for text in pair.texts] == [("runs", "as a whole", "in 1 part")]


RUNS = st.lists(st.builds(run_of, st.sampled_from("abcdef"), st.sampled_from("xyz")), unique_by=lambda run: run.name)


@given(RUNS, RUNS)
def test_every_run_is_in_one_place(first: list[ComparedRun], second: list[ComparedRun]) -> None:
    pairs, only_first, only_second = names(pairing_of(first, second))
    assert sorted([one for one, _ in pairs] + only_first) == sorted(run.name for run in first)
    assert sorted([other for _, other in pairs] + only_second) == sorted(run.name for run in second)
    common = {run.name for run in first} & {run.name for run in second}
    assert {(name, name) for name in common} <= set(pairs)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return json.loads(Path(report_in(tmp_path_factory.mktemp("good"), "good")).read_text())


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("format",), "other", "is no report of npuflow run; hint: make it anew"),
        (("version",), 2, "is a report of version 2, expected 3"),
        (("functions",), {}, "functions is no list"),
        (("functions", 0, "time_us"), "fast", r"functions\[0\].time_us is no number"),
        (("functions", 0, "time_us"), True, r"functions\[0\].time_us is no number"),
        (("functions", 0, "time_us"), -1, r"functions\[0\].time_us is -1, no number from 0 on"),
        (("functions", 0, "time_us"), 10**400, r"functions\[0\].time_us is inf, no number"),
        (("functions", 0, "name"), 3, r"functions\[0\].name is no text"),
        (("functions", 0, "traffic", "L3", "read_bytes"), None, r"functions\[0\].traffic.L3.read_bytes is no number"),
        (("functions", 0, "losses", 0), [], r"functions\[0\].losses\[0\] is no object"),
        (("functions", 0, "strategy", "pack"), "8x8", r"functions\[0\].strategy.pack is no number"),
        (("sequences",), [{"parts": ["gone"]}], r"sequences\[0\].parts\[0\] is 'gone', of which there is no function"),
    ],
)
def test_what_is_wrong_is_named(
    way: tuple[str | int, ...], value: object, message: str, good: dict[str, object], tmp_path: Path
) -> None:
    data = json.loads(json.dumps(good))
    inner = data
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        read_report(str(file))


def test_names_are_names_of_one(good: dict[str, object], tmp_path: Path) -> None:
    data = json.loads(json.dumps(good))
    data["functions"] *= 2
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match="has two functions of the name 'matmul'"):
        read_report(str(file))


@pytest.mark.parametrize("key", ["cycles", "bound_by", "engines", "energy", "verified", "grid"])
def test_what_is_missing_is_named(key: str, good: dict[str, object], tmp_path: Path) -> None:
    data = json.loads(json.dumps(good))
    del data["functions"][0][key]
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=rf"functions\[0\] has no '{key}'"):
        read_report(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{\n  "format" 3}', "bad.json:2:12: error: this is no JSON: expecting ':' delimiter"),
        (b"", "bad.json:1:1: error: this is no JSON"),
        (b"\xff\xfe\xfd", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is no JSON|is no report"),
        (b"[]", "is no report of npuflow run"),
        (b"3", "is no report of npuflow run"),
    ],
)
def test_what_is_no_report_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(text)
    with pytest.raises(InputError) as caught:
        read_report(str(file))
    assert any(part in str(caught.value) for part in message.split("|"))


def test_what_is_read_back_is_what_a_program_gets(tmp_path: Path) -> None:
    both = matmul(32, 32, 32) + matmul(16, 16, 16, name="gone")
    first, second = map(read_report, (report_in(tmp_path, "a", both, ""), report_in(tmp_path, "b", options="")))
    data = json.loads(json.dumps(comparison_dict(first, second, compared(first, second))))
    assert (data["format"], data["version"]) == ("npuflow compare", 1)
    assert [run["name"] for run in data["only_first"]] == ["gone"]
    (run,) = data["runs"]
    assert run["is_change"] is True
    assert {"name": "takes and gives", "first": "32x32xi8, 32x32xi8) -> (32x32xi32)"}.items() <= run["texts"][0].items()
