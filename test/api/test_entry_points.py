"""A package that names its passes under the entry point group `npuflow.passes` needs no `--load`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PASSES = '''
from dataclasses import dataclass
import npuflow

@npuflow.register_pass
@dataclass(frozen=True)
class Count(npuflow.Pass):
    """Counts functions."""

    name = "third-party-count"

    def run(self, op, context):
        context.remark(op, f"{len(npuflow.ops_of(op, 'func.func'))} functions")
'''


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder laid out as an installed package leaves it."""
    info = tmp_path / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[npuflow.passes]\nmine = third_party_passes\n")
    return tmp_path


def npuflow_opt(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "npuflow.tools.opt", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        input="func.func @f() { return }",
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_packages_pass_is_known(site: Path) -> None:
    (site / "third_party_passes.py").write_text(PASSES)
    assert "Counts functions." in npuflow_opt(site, "--list-passes").stdout
    run = npuflow_opt(site, "-", "--third-party-count", "--remarks")
    assert run.returncode == 0
    assert "[third-party-count] 1 functions" in run.stderr


def test_a_broken_package_is_named(site: Path) -> None:
    (site / "third_party_passes.py").write_text("import no_such_module")
    run = npuflow_opt(site, "-", "--cse")
    assert run.returncode == 2
    failure = "error: plugin 'mine' (third_party_passes) failed: ModuleNotFoundError: No module named 'no_such_module'"
    assert f"{site / 'third_party_passes.py'}:1: {failure}\nimport no_such_module\n" in run.stderr
