"""The way of a tensor goes forward through the rooms, and the page about it counts what is called."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from way_of_a_tensor import WAY, Trace, by_room

PAGE = Path(__file__).resolve().parents[2] / "docs" / "way-of-a-tensor.md"


def test_rooms_are_met_in_the_order_of_the_list() -> None:
    """That the page is up to date is what `tools/update-generated --check` says."""
    through = PAGE.read_text().partition("## Through")[2].partition("## Beside")[0]
    met = re.findall(r"^\| `(\w+)` \|", through, re.MULTILINE)
    assert met == list(WAY)


def test_calls_count_and_imports_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one_of_mine.py").write_text("def called():\n    import other_of_mine\n")
    (tmp_path / "other_of_mine.py").write_text("def at_import():\n    pass\n\nat_import()\n")
    monkeypatch.syspath_prepend(tmp_path)
    called = importlib.import_module("one_of_mine").called
    trace, before = Trace(tmp_path), sys.getprofile()
    sys.setprofile(trace)
    try:
        called()
        sys.modules["other_of_mine"].at_import()
    finally:
        sys.setprofile(before)
    assert list(trace.files) == ["one_of_mine.py", "other_of_mine.py"]
    called_alone = Trace(tmp_path)
    del sys.modules["other_of_mine"]
    sys.setprofile(called_alone)
    try:
        called()
    finally:
        sys.setprofile(before)
    assert list(called_alone.files) == ["one_of_mine.py"]


def test_files_are_sorted_into_rooms() -> None:
    files = ["__init__.py", "core/passes.py", "schedule/ir/emit.py", "core/build.py"]
    rooms = {"npuflow": ["__init__.py"], "core": ["passes.py", "build.py"], "schedule": ["ir/emit.py"]}
    assert by_room(files) == rooms
