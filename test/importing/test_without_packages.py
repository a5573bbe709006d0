"""What can be said before any network is loaded, and without the packages that load them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from npuflow.tools.npuflow import main

NETWORKS = str(Path(__file__).parent / "Inputs" / "networks.py")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "expected one network, got 0"),
        (["a.pt2", "b.pt2", "-o", "x.mlir"], 2, "expected one network, got 2"),
        ([NETWORKS], 2, "there is nowhere to write to"),
        ([NETWORKS, "-o", "x.mlir"], 2, "networks.py:function"),
        (
            ["network.h5", "-o", "x.mlir"],
            2,
            "cannot tell what to import from 'network.h5'; hint: give MODULE.py:function",
        ),
        (["nowhere.pt2", "-o", "x.mlir"], 1, "cannot open 'nowhere.pt2': no such file"),
        (["nowhere.onnx", "-o", "x.mlir"], 1, "cannot open 'nowhere.onnx': no such file"),
        (["nowhere.py:f", "-o", "x.mlir"], 1, "cannot open 'nowhere.py': no such file"),
        ([f"{NETWORKS}:product", "-o", NETWORKS], 2, "-o would overwrite the input"),
        ([f"{NETWORKS}:product", "-o", "x.mlir", "--inputs=4x4"], 2, "'4x4' is no type of an input"),
        ([f"{NETWORKS}:product", "-o", "x.mlir", "--input=4xf32"], 2, "did you mean --inputs"),
        ([f"{NETWORKS}:product", "-o", "x.mlir", "--time-limit=0"], 2, "the time limit cannot be 0"),
    ],
)
def test_wrong_calls(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import", *arguments]) == code
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "package", "purpose"),
    [
        (f"{NETWORKS}:product", "torch", "importing a network from Python"),
        ("file.pt2", "torch", "importing an exported program"),
        ("file.onnx", "onnx", "importing an ONNX model"),
    ],
)
def test_a_missing_package_is_named(
    source: str,
    package: str,
    purpose: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("file.pt2", "file.onnx"):
        (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["import", source, "-o", "x.mlir"]) == 1
    err = capsys.readouterr().err
    assert f"{purpose} needs the package '{package}', which cannot be imported" in err
    assert f"hint: pip install 'npuflow[{package}]'" in err
