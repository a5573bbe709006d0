"""The tests here share the programs of `matmuls.py`, a browser, and a device that says less than others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import Browser, browser
from matmuls import matmul

import npuflow


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = matmul(64, 64, 64) + matmul(32, 32, 32, name="other")
    path = tmp_path_factory.mktemp("page") / "two.html"
    path.write_text(
        npuflow.compile(source, "npuflow-stream-k", device="toy").run(verify=False).html(), encoding="utf-8"
    )
    return path


@pytest.fixture
def silent(tmp_path: Path) -> str:
    """A device whose file ends before it says anything of energy."""
    shipped = Path(npuflow.__file__).parent / "target" / "devices" / "toy-scratchpad.toml"
    text, found, _ = shipped.read_text().partition("[energy]")
    assert found
    (tmp_path / "silent.toml").write_text(text)
    return str(tmp_path / "silent.toml")
