"""The project's own tools start: what they import from the tests as well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.mark.parametrize(
    "tool", [path for path in sorted(TOOLS.iterdir()) if not path.suffix and path.is_file()], ids=lambda path: path.name
)
def test_starts(tool: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, tool, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"usage: {tool.name}" in done.stdout
