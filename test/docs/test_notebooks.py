"""The notebooks in examples/ run, and show what their cells give."""

from __future__ import annotations

import json
from pathlib import Path

import notebook
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_a_notebook_gives_what_it_shows(file: Path) -> None:
    shown = json.loads(file.read_text())
    assert (shown["nbformat"], shown["nbformat_minor"]) == (4, 5)
    assert any("outputs" in cell and cell["outputs"] for cell in shown["cells"])
    assert notebook.executed_text(file) == file.read_text(), "tools/update-generated writes them"


def test_there_is_one() -> None:
    assert NOTEBOOKS


def cells(*sources: str) -> notebook.Notebook:
    return {"cells": [{"cell_type": "code", "source": source.splitlines(True)} for source in sources]}


def test_cells_share_names_and_give_what_jupyter_would() -> None:
    made = notebook.executed(cells("x = 3\nprint(x)\nx + 1", "x = x * 2", "None", "x"))
    outputs = [cell["outputs"] for cell in made["cells"]]
    assert [one["output_type"] for one in outputs[0]] == ["stream", "execute_result"]
    assert outputs[0][1]["data"] == {"text/plain": ["4"]}
    assert outputs[1:3] == [[], []]
    assert outputs[3][0]["data"]["text/plain"] == ["6"]


def test_a_cell_that_fails_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        notebook.executed(cells("1 / 0"))
