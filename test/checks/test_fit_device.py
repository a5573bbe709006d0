"""tools/fit-device holds the table in docs/simulator.md against what it finds, and writes it."""

from pathlib import Path
from types import ModuleType

import pytest

from npuflow.target import load_device

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

    assert fit_device._check(device, judged, write=False) == 1
    said = capsys.readouterr().out
    assert f"not there: {line}" in said
    assert f"not so any more: {gone}" in said

    assert fit_device._check(device, judged, write=True) == 0
    assert page.read_text().split("\n") == ["# Page", *table[:2], line, OTHERS, *rest]
    capsys.readouterr()
    assert fit_device._check(device, judged, write=False) == 0
    assert "is up to date" in capsys.readouterr().out
