"""tools/fit-device holds the table in docs/simulator.md against what it finds, and writes it."""

import dataclasses
from pathlib import Path
from types import ModuleType

import pytest

from npuflow.target import load_device
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Prepared, predict_us

OTHERS = "| `npu2` | somebody matmul | 3 | 1.0 % | 2.0 % | 3.0 % | 4.0 % | 5.0 % |"


def test_the_table_is_checked_and_written(
    fit_device: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    gone = "| `npu1` | nobody matmul | 1 | 1.0 % |  |  |  |  |"
    table = [fit_device.TABLE, "|---|---|---|---|---|---|---|---|", gone, OTHERS]
    # Another table begins its lines with the device as well.
    rest = ["", "| `npu1` | 22 GB/s | 20.6 | gains nothing |", ""]
    page.write_text("\n".join(["# Page", *table, *rest]))
    monkeypatch.setattr(fit_device, "PAGE", page)
    nan = float("nan")
    found = fit_device.Errors("mine matmul", 2, 0.0123, 0.5, 0.02), fit_device.Errors("mine matmul", 2, 0.04, 0.5, nan)
    judged = {"sample": [found[0]], "shapes": [found[1]], "sources": [found[1]]}
    device = load_device("npu1")
    line = "| `npu1` | mine matmul | 2 | 1.2 % | 2.0 % | 4.0 % |  | 4.0 % |"

    def check(*, write: bool) -> int:
        lines = page.read_text().split("\n")
        return int(fit_device._check(device, lines, {fit_device.TABLE: fit_device._table(device, judged)}, write))

    assert check(write=False) == 1
    said = capsys.readouterr().out
    assert f"not there: {line}" in said
    assert f"not so any more: {gone}" in said

    assert check(write=True) == 0
    assert page.read_text().split("\n") == ["# Page", *table[:2], line, OTHERS, *rest]
    capsys.readouterr()
    assert check(write=False) == 0
    assert "is up to date" in capsys.readouterr().out


def test_rows_that_are_far_off_keep_what_the_page_says_of_them(fit_device: ModuleType) -> None:
    device = load_device("npu1")
    row = Measurement(
        "known", "npu1", "test", "core_kernel", "bf16", "bf16", m=64, k=64, n=64, l1_m=64, l1_k=64, l1_n=64, rows=1,
        cols=1, time_us=1e-3,
    )  # fmt: skip
    near = predict_us(Prepared(row, device), device)
    measured = [
        Prepared(dataclasses.replace(row, id=name, time_us=time), device)
        for name, time in (("known", near / 1.2), ("new", near * 2), ("near", near / 1.1))
    ]
    page = [fit_device.FAR_TABLE, "|---|---|---|---|", "| `npu1` | `known` | +70 % | it rained |", ""]
    assert fit_device._far_table(device, measured, page) == [
        "| `npu1` | `known` | +20 % | it rained |",
        "| `npu1` | `new` | -50 % | unexplained |",
    ]
