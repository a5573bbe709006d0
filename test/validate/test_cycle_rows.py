"""Files of measured cycles: how they are read, what is predicted, and how close that is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from npuflow.errors import InputError
from npuflow.target import Device, load_device
from npuflow.tools.npuflow import main
from npuflow.validate.constants import constant, with_constants
from npuflow.validate.cycle_rows import CycleRow, UnknownWork, predict_cycles, summarise_cycles
from npuflow.validate.fit import fit
from npuflow.validate.read import read_cycle_rows

MEASURED = Path(__file__).resolve().parents[2] / "benchmarks" / "measurements"
COMPUTE, TRANSFERS = MEASURED / "intel_npu_compute.csv", MEASURED / "intel_npu_dma.csv"


def rows_of(path: Path) -> list[CycleRow]:
    found = read_cycle_rows(str(path))
    assert found is not None
    return [row for row in found if isinstance(row, CycleRow)]


def report_of(path: Path, tmp_path: Path) -> dict[str, list[dict[str, object]]]:
    assert main(["validate", str(path), "--json", str(tmp_path / "out.json")]) == 0
    found: dict[str, list[dict[str, object]]] = json.loads((tmp_path / "out.json").read_text())
    return found


def changed(path: Path, tmp_path: Path, line: int, **values: str) -> Path:
    """A copy of a file's first lines, with some columns of one changed; a column that isn't there is added."""
    head, *body = path.read_text().splitlines()[:5]
    columns = head.split(",")
    table = [dict(zip(columns, row.split(","))) for row in body]
    columns += [key for key in values if key not in columns]
    table[line] |= values
    copy = tmp_path / "changed.csv"
    copy.write_text(
        "\n".join([",".join(columns), *(",".join(row.get(c, "") for c in columns) for row in table)]) + "\n"
    )
    return copy


def test_rows_are_in_the_files_order(tmp_path: Path) -> None:
    for path in (COMPUTE, TRANSFERS):
        report = report_of(path, tmp_path)
        lines = path.read_text().splitlines()[1:]
        assert [row["measured_cycles"] for row in report["rows"]] == [float(line.split(",")[-1]) for line in lines]
        assert all(isinstance(row["predicted_cycles"], int) and row["predicted_cycles"] > 0 for row in report["rows"])
        assert not report["unsupported"]
        assert "id" not in report["rows"][0]


def test_what_a_row_neednt_say(tmp_path: Path) -> None:
    plain = dict.fromkeys(("kw", "kh", "sw", "sh", "output_writes"), "1") | {
        "pad_top": "0",
        "pad_bottom": "0",
        "out_type": "uint8",
    }
    full, short = (report_of(changed(COMPUTE, tmp_path, 0, **values), tmp_path)["rows"][0]
                   for values in (plain, dict.fromkeys(plain, "")))  # fmt: skip
    assert full == short
    needed = "device op in_type mode ow oh ic oc measured_cycles".split()
    columns = COMPUTE.read_text().partition("\n")[0].split(",")
    rows = [dict(zip(columns, line.split(","))) for line in COMPUTE.read_text().splitlines()[1:3]]
    copy = tmp_path / "short.csv"
    copy.write_text("\n".join([",".join(needed), *(",".join(row[c] for c in needed) for row in rows)]))
    assert [row["work"] for row in report_of(copy, tmp_path)["rows"]] == [
        "conv 16x16 160->16 i8 16x16",
        "conv 16x16 160->48 i8 16x16",
    ]


def test_an_id_is_the_files_own(tmp_path: Path) -> None:
    report = report_of(changed(TRANSFERS, tmp_path, 2, id="mine"), tmp_path)
    assert [row.get("id") for row in report["rows"]] == [None, None, "mine", None]


# Mean errors that issue and facts ask for on other rows; on these, they must be smaller.
ASKED = {
    "npu2.7, conv": 0.056,
    "npu2.7, depthwise": 0.018,
    "npu2.7, eltwise": 0.12,
    "npu4.0, conv": 0.10,
    "npu4.0, depthwise": 0.042,
    "npu4.0, eltwise": 0.12,
    "npu4.0, maxpool": 0.042,
}


def test_ops_are_close() -> None:
    rows = rows_of(COMPUTE)
    found = {one.group: one.mean for one in summarise_cycles(predict_cycles(rows, devices(rows)))}
    assert {group: found[group] < bound for group, bound in ASKED.items()} == dict.fromkeys(ASKED, True)


def test_transfers_are_close() -> None:
    rows = rows_of(TRANSFERS)
    found = {one.group: one.mean for one in summarise_cycles(predict_cycles(rows, devices(rows)))}
    assert found["npu2.7, all"] < 0.06
    assert found["npu4.0, all"] < 0.10


def test_transfers_are_read_by_the_timer_that_measured_them() -> None:
    # A tick is 971e6 / 19.2e6 = 50.57 cycles: 188 of them and one more are nearest to four ticks, 202.3.
    device = load_device("npu4.0")
    assert [device.as_timed(cycles) for cycles in (1, 101, 189, 235, 6381)] == [51, 102, 203, 253, 6373]
    assert load_device("npu2.7").as_timed(189) == 189
    rows = [row for row in rows_of(TRANSFERS) if row.device == device.name]
    assert all(device.as_timed(int(row.measured_cycles)) == row.measured_cycles for row in rows)
    made = predict_cycles(rows, {device.name: device})
    assert all(device.as_timed(one.predicted_cycles) == one.predicted_cycles for one in made)
    assert {one.row.timed.cycles(device) for one in made[:3]} == {189}, "a fit goes by what the machine takes"


def devices(rows: list[CycleRow]) -> dict[str, Device]:
    return {row.device: load_device(row.device) for row in rows}


def test_what_was_measured_changes_no_prediction() -> None:
    rows = rows_of(COMPUTE)
    other = [replace(row, measured_cycles=1.0) for row in rows]
    before, after = (predict_cycles(each, devices(rows)) for each in (rows, other))
    assert [made.predicted_cycles for made in before] == [made.predicted_cycles for made in after]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"op": "mystery"}, "operator mystery"),
        ({"mode": "cuboid_2x2"}, "unknown mode of device 'npu2.7'"),
        ({"in_type": "int3"}, "unknown in_type 'int3'"),
        ({"device": "npu2"}, "device 'npu2' has no [patch_engine]"),
        ({"device": "npu9"}, "unknown device 'npu9'"),
    ],
)
def test_what_nobody_can_tell_is_left_out(values: dict[str, str], reason: str, tmp_path: Path) -> None:
    found = read_cycle_rows(str(changed(COMPUTE, tmp_path, 1, **values)))
    assert found is not None
    (unknown,) = [row for row in found if isinstance(row, UnknownWork)]
    assert unknown.reason.startswith(reason)
    assert unknown.location.line == 3
    assert len(found) == 4


@pytest.mark.parametrize(
    ("path", "values", "said"),
    [
        (COMPUTE, {"ow": "0"}, "changed.csv:3: error: ow is '0'; hint: give a whole number from 1 to 1e6"),
        (COMPUTE, {"measured_cycles": "-1"}, "measured_cycles is '-1'"),
        (COMPUTE, {"ow": ""}, "ow is empty"),
        (TRANSFERS, {"bytes": "few"}, "bytes is 'few'"),
        (TRANSFERS, {"dst": "flash"}, "unknown dst 'flash'"),
    ],
)
def test_wrong_rows_are_reported(path: Path, values: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_cycle_rows(str(changed(path, tmp_path, 1, **values)))
    assert said in str(caught.value)


def test_other_files_are_read_by_others() -> None:
    assert read_cycle_rows(str(MEASURED / "npu_measurements.csv")) is None
    assert read_cycle_rows(str(MEASURED / "npu_sequences.csv")) is None


def test_designs_have_pairs_and_cycles_have_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(TRANSFERS), "--pairs"]) == 2
    assert "leave out --pairs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "truth"),
    [
        (COMPUTE, {"patch_engine.read_bytes_per_cycle": 100.0, "patch_engine.grids.*.read_share": 0.6}),
        (TRANSFERS, {"dmas.1.start_cycles": 120.0, "dmas.3.local_bytes_per_cycle": 30.0}),
    ],
)
def test_a_fit_finds_the_constants_that_made_its_rows(path: Path, truth: dict[str, float]) -> None:
    device = load_device("npu4.0")
    rows = [row for row in rows_of(path) if row.device == device.name]
    made = with_constants(device, truth)
    rows = [replace(row, measured_cycles=row.timed.cycles(made)) for row in rows]
    found = fit(rows, device, list(truth), rounds=10)
    assert found.values == pytest.approx(truth, rel=0.02)
    assert found.mean_error < 0.005
    assert {name: constant(made, name) for name in truth} == truth


def test_constants_of_gears() -> None:
    device = with_constants(load_device("npu2.7"), {"gears.4.latency_seconds": 1e-6, "gears.4.start_cycles": 100.4})
    assert (device.gears[0].latency_seconds, device.gears[0].start_cycles) == (1e-6, 100)
    assert constant(device, "gears.4.latency_seconds") == 1e-6
